"""The rows of recurrent layers, and of the wrappers around them."""

import daskdl as conf
from tests.unit.layers.case import ROWS, SERIES, Case

LSTM = conf.LSTM(n_out=2)
RNN = conf.SimpleRnn(n_out=2)


def series(layer, **options):
    return Case(layer, SERIES, **options)


def masked(layer, **options):
    return Case(layer, SERIES, is_masked=True, **options)


RECURRENT_CASES = {
    "lstm": series(LSTM),
    "lstm, one step": series(LSTM, steps=1),
    "lstm, masked": masked(LSTM),
    "lstm, dropout": series(conf.LSTM(n_out=2, keep_probability=0.7)),
    "lstm, other functions": series(
        conf.LSTM(n_out=2, activation="softsign", gate_activation="hardsigmoid")
    ),
    "lstm, recurrent weights": series(
        conf.LSTM(n_out=2, weight_init="xavier", weight_init_recurrent="uniform")
    ),
    "lstm, softmax gates": series(conf.LSTM(n_out=2, gate_activation="softmax")),
    "graves lstm, softmax gates": series(
        conf.GravesLSTM(n_out=2, gate_activation="softmax")
    ),
    "graves lstm": series(conf.GravesLSTM(n_out=2)),
    "graves lstm, one step": series(conf.GravesLSTM(n_out=2), steps=1),
    "graves lstm, masked": masked(conf.GravesLSTM(n_out=2)),
    "graves lstm, other functions": series(
        conf.GravesLSTM(n_out=2, activation="softsign", gate_activation="hardsigmoid")
    ),
    "graves bidirectional lstm": series(conf.GravesBidirectionalLSTM(n_out=2)),
    "simple rnn": series(RNN),
    "simple rnn, one step": series(RNN, steps=1),
    "simple rnn, masked": masked(RNN),
    "simple rnn, swish": series(conf.SimpleRnn(n_out=2, activation="swish")),
    "simple rnn, dropout": series(conf.SimpleRnn(n_out=2, keep_probability=0.7)),
    "simple rnn, normalized": series(conf.SimpleRnn(n_out=4, has_layer_norm=True)),
    **{
        f"bidirectional, {mode}": series(conf.Bidirectional(layer=LSTM, mode=mode))
        for mode in ("concat", "add", "mul", "average")
    },
    "bidirectional, masked": masked(conf.Bidirectional(layer=RNN)),
    "bidirectional, dropout": series(
        conf.Bidirectional(layer=conf.LSTM(n_out=2, keep_probability=0.7))
    ),
    "bidirectional of last steps": series(
        conf.Bidirectional(layer=conf.LastTimeStep(layer=LSTM), mode="mul")
    ),
    "last time step": series(conf.LastTimeStep(layer=LSTM)),
    "last time step, masked": masked(conf.LastTimeStep(layer=LSTM)),
    "last time step of a graves lstm, masked": masked(
        conf.LastTimeStep(layer=conf.GravesLSTM(n_out=2))
    ),
    "last time step of a simple rnn, masked": masked(conf.LastTimeStep(layer=RNN)),
    "last time step of both directions": series(
        conf.LastTimeStep(layer=conf.Bidirectional(layer=LSTM))
    ),
    "mask zero": series(conf.MaskZero(layer=LSTM)),
    "mask zero, masked": masked(conf.MaskZero(layer=RNN, masking_value=-1.0)),
    "mask": series(conf.Mask()),
    "mask, masked": masked(conf.Mask()),
    "mask of rows": Case(conf.Mask(), ROWS),
    "time distributed": series(conf.TimeDistributed(layer=conf.Dense(n_out=4))),
    "time distributed, masked": masked(
        conf.TimeDistributed(layer=conf.Dense(n_out=4, activation="swish"))
    ),
    "rnn output": series(conf.RnnOutput(n_out=3)),
    "rnn output, dropout": series(
        conf.RnnOutput(n_out=3, loss="xent", keep_probability=0.7)
    ),
    "rnn loss": series(conf.RnnLoss()),
    "rnn loss, xent": series(conf.RnnLoss(loss="xent")),
}
