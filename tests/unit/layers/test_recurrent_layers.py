"""What single recurrent layers and wrappers promise, besides what all layers do."""

import numpy as np
import pytest

import daskdl as dl
from daskdl.arrays.flat import ParamLayout
from daskdl.arrays.workspace import Workspace
from daskdl.dialects import EXACT, quirks_of
from daskdl.errors import OptionError, ShapeError
from daskdl.nn.conf.defaults import NetworkConf
from daskdl.nn.conf.input_type import FeedForward, Recurrent
from daskdl.nn.conf.values import with_quirks
from daskdl.nn.layers.layer import Layer
from tests.dialects import DL4J, in_dl4j
from tests.gradients import check_gradient

SERIES = Recurrent(size=3)
BATCH, STEPS = 3, 4
MASK = np.array([[1, 1, 1, 1], [1, 1, 0, 0], [1, 0, 0, 0.0]])
PARTS = (slice(2), slice(2, STEPS))
HOLES = np.array([[1, 0, 1, 1], [0, 1, 1, 0], [0, 0, 0, 1.0]])


class Built:
    """A layer by itself, in float64."""

    def __init__(self, conf, input_type=SERIES, *, dialect=EXACT):
        defaults = NetworkConf(dialect=dialect).defaults()
        conf = with_quirks(conf, quirks_of(dialect))
        conf = conf.filled(defaults, input_type, "me")
        self.layer = Layer(conf, input_type, "me", Workspace())
        self.layout = ParamLayout.of(conf.parameter_shapes(input_type))
        self.params = np.zeros(self.layout.size)
        self.gradients = np.zeros(self.layout.size)
        self.table = self.layout.views(self.params)
        self.layer.bind(self.table, self.layout.views(self.gradients))
        self.layer.initialize(np.random.default_rng(5))

    def forward(self, x, mask=None):
        output = self.layer.forward(
            x, training=False, mask=mask, rng=None, batch_size=len(x)
        )
        self.mask_behind = self.layer.mask
        return output.copy()

    def backward(self, grad_out):
        return self.layer.backward(grad_out)


@pytest.fixture
def x(rng):
    return rng.standard_normal((BATCH, STEPS, 3))


RECURRENT = {
    "lstm": dl.LSTM(n_out=2),
    "graves": dl.GravesLSTM(n_out=2),
    "simple": dl.SimpleRnn(n_out=2),
}


@pytest.mark.parametrize("kind", ["lstm", "graves"])
def test_a_plain_lstm_only_passes_a_mask_on_in_dl4j(x, kind):
    built = Built(RECURRENT[kind], dialect=DL4J)
    np.testing.assert_array_equal(built.forward(x, HOLES), built.forward(x))
    assert built.forward(x, HOLES) is not None
    assert built.mask_behind is HOLES


@pytest.mark.parametrize("kind", RECURRENT)
def test_a_dropped_step_leaves_the_state_as_it_is(x, kind):
    built = Built(RECURRENT[kind])
    kept = np.flatnonzero(HOLES[0])
    output = built.forward(x, HOLES)
    np.testing.assert_allclose(output[:1, kept], built.forward(x[:1, kept]), rtol=1e-12)
    np.testing.assert_array_equal(output[HOLES == 0], 0)


@pytest.mark.parametrize("kind", RECURRENT)
def test_the_state_that_is_carried_over_is_that_of_the_last_kept_step(x, kind):
    built = Built(RECURRENT[kind])
    whole = built.forward(x, MASK)
    built.layer.run.carries_state = True
    parts = [built.forward(x[:, part], MASK[:, part]) for part in PARTS]
    np.testing.assert_allclose(np.concatenate(parts, axis=1), whole, rtol=1e-12)


@pytest.mark.parametrize("kind", RECURRENT)
def test_behind_a_dropped_step_dl4j_begins_with_zeros(x, kind):
    built = Built(dl.MaskZero(layer=RECURRENT[kind]), dialect=DL4J)
    x[0, 1] = 0
    output = built.forward(x)
    np.testing.assert_allclose(output[:1, 2:], built.forward(x[:1, 2:]), rtol=1e-12)


@pytest.mark.parametrize("kind", RECURRENT)
def test_inside_of_last_time_step_dl4j_uses_the_mask(x, kind):
    built = Built(dl.LastTimeStep(layer=RECURRENT[kind]), dialect=DL4J)
    alone = Built(RECURRENT[kind])
    alone.params[...] = built.params
    expected = alone.forward(x[1:2, 1:3])[:, -1]
    np.testing.assert_allclose(built.forward(x, HOLES)[1:2], expected, rtol=1e-12)


def test_without_a_mask_last_time_step_keeps_the_last(x):
    built = Built(dl.LastTimeStep(layer=dl.LSTM(n_out=2)))
    alone = Built(dl.LSTM(n_out=2))
    alone.params[...] = built.params
    np.testing.assert_array_equal(built.forward(x), alone.forward(x)[:, -1])


def test_the_last_step_of_nothing_is_zero(x):
    built = Built(dl.LastTimeStep(layer=dl.LSTM(n_out=2)))
    np.testing.assert_array_equal(built.forward(x, np.zeros((BATCH, STEPS))), 0)


def test_no_mask_goes_on_behind_the_last_step(x):
    built = Built(dl.LastTimeStep(layer=dl.LSTM(n_out=2)))
    built.forward(x, MASK)
    assert built.mask_behind is None


def test_mask_zero_drops_the_steps_whose_features_all_have_the_value(x):
    x[HOLES == 0] = 7
    built = Built(dl.MaskZero(layer=dl.SimpleRnn(n_out=2), masking_value=7))
    alone = Built(dl.SimpleRnn(n_out=2))
    alone.params[...] = built.params
    np.testing.assert_array_equal(built.forward(x), alone.forward(x, HOLES))


def test_mask_zero_keeps_a_step_with_one_other_feature(x):
    x[0, 1] = [0, 0, 1]
    built = Built(dl.MaskZero(layer=dl.SimpleRnn(n_out=2)))
    assert (built.forward(x)[0, 1] != 0).all()


def test_mask_zero_drops_what_either_mask_drops(x):
    x[0, 1] = 0
    built, alone = (
        Built(layer)
        for layer in (dl.MaskZero(layer=RECURRENT["simple"]), RECURRENT["simple"])
    )
    both = MASK.copy()
    both[0, 1] = 0
    np.testing.assert_array_equal(built.forward(x, MASK), alone.forward(x, both))
    np.testing.assert_array_equal(built.mask_behind, both)


def test_the_mask_that_arrives_does_not_count_for_mask_zero_in_dl4j(x):
    built = Built(dl.MaskZero(layer=dl.SimpleRnn(n_out=2)), dialect=DL4J)
    np.testing.assert_array_equal(built.forward(x, MASK), built.forward(x))
    built.forward(x, MASK)
    assert built.mask_behind is None


@pytest.mark.parametrize(
    "wrap", [lambda layer: layer, lambda layer: dl.Bidirectional(layer=layer)]
)
def test_last_time_step_asks_mask_zero_which_step_is_the_last(x, wrap):
    x[1, 2:] = 0
    masking = wrap(dl.MaskZero(layer=dl.SimpleRnn(n_out=2)))
    built = Built(dl.LastTimeStep(layer=masking))
    inner = Built(masking)
    inner.params[...] = built.params
    np.testing.assert_array_equal(built.forward(x)[1], inner.forward(x)[1, 1])


def test_the_second_of_both_directions_gets_the_series_from_behind(x):
    built = Built(dl.Bidirectional(layer=dl.LSTM(n_out=2)))
    alone = Built(dl.LSTM(n_out=2))
    for prefix, series in (("f", x), ("b", x[:, ::-1])):
        for name, view in alone.table.items():
            view[...] = built.table[prefix + name]
        output = alone.forward(np.ascontiguousarray(series))
        columns = slice(0, 2) if prefix == "f" else slice(2, 4)
        found = built.forward(x)[:, :, columns]
        expected = output if prefix == "f" else output[:, ::-1]
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_both_directions_begin_with_weights_of_their_own():
    table = Built(dl.Bidirectional(layer=dl.LSTM(n_out=2))).table
    assert list(table) == ["fW", "fRW", "fb", "bW", "bRW", "bb"]
    assert (table["fW"] != table["bW"]).all()


def test_graves_bidirectional_is_the_sum_of_both(x):
    both = Built(dl.GravesBidirectionalLSTM(n_out=2))
    added = Built(dl.Bidirectional(layer=dl.GravesLSTM(n_out=2), mode="add"))
    added.params[...] = both.params
    np.testing.assert_allclose(both.forward(x), added.forward(x), rtol=1e-12)


def test_graves_bidirectional_begins_anew_behind_a_dropped_step_in_dl4j(x):
    built = Built(dl.GravesBidirectionalLSTM(n_out=2), dialect=DL4J)
    output = built.forward(x, HOLES)
    assert (output[HOLES == 0] == 0).all()
    np.testing.assert_allclose(output[0, 2:], built.forward(x[:1, 2:])[0], rtol=1e-12)


def test_dl4j_derives_graves_bidirectional_where_labels_are_masked_as_well(rng, x):
    """Steps that are dropped at the end get no gradient from a masked loss."""
    built = Built(dl.GravesBidirectionalLSTM(n_out=2), dialect=DL4J)
    target = rng.standard_normal((BATCH, STEPS, 2)) * MASK[:, :, None]

    def loss_and_grad(vector):
        built.params[...] = vector[: built.params.size]
        series = vector[built.params.size :].reshape(x.shape)
        loss = float((built.forward(series, MASK) * target).sum())
        grad_x = built.backward(target)
        return loss, np.concatenate([built.gradients, grad_x.ravel()])

    check_gradient(loss_and_grad, np.concatenate([built.params, x.ravel()]))


def test_dropped_steps_of_an_lstm_send_a_gradient_back_in_dl4j(rng, x):
    """It masks this forward pass, and not what comes back."""
    built = Built(dl.MaskZero(layer=dl.LSTM(n_out=2)), dialect=DL4J)
    x[1, 2] = 0
    built.forward(x)
    assert (built.backward(rng.standard_normal((BATCH, STEPS, 2)))[1, 2] != 0).all()


def test_dropped_steps_of_a_graves_lstm_do_not(rng, x):
    built = Built(dl.MaskZero(layer=dl.GravesLSTM(n_out=2)), dialect=DL4J)
    x[1, 2] = 0
    built.forward(x)
    grad_x = built.backward(rng.standard_normal((BATCH, STEPS, 2)))
    np.testing.assert_array_equal(grad_x[1, 2], 0)


def test_time_distributed_dense_is_dense_on_series(x):
    wrapped = Built(dl.TimeDistributed(layer=dl.Dense(n_out=4)))
    plain = Built(dl.Dense(n_out=4))
    plain.params[...] = wrapped.params
    np.testing.assert_array_equal(wrapped.forward(x), plain.forward(x))


def test_time_distributed_drops_the_steps_that_the_mask_names(x):
    """DL4J drops steps of other examples: its mask has another order than the rows."""
    output = Built(dl.TimeDistributed(layer=dl.Dense(n_out=4))).forward(x, HOLES)
    np.testing.assert_array_equal((output == 0).all(axis=2), HOLES == 0)


def test_time_distributed_passes_the_mask_on_as_it_was(x):
    built = Built(dl.TimeDistributed(layer=dl.Dense(n_out=4)))
    built.forward(x, MASK)
    np.testing.assert_array_equal(built.mask_behind, MASK)


def test_the_mask_layer_drops_rows(rng):
    built = Built(dl.Mask(), FeedForward(size=2))
    rows = rng.standard_normal((3, 2))
    mask = np.array([[1], [0], [1.0]])
    np.testing.assert_array_equal(built.forward(rows, mask), rows * mask)


def test_a_softmax_sees_one_gate_at_a_time(x):
    """With one unit every gate is then fully open."""
    built = Built(dl.LSTM(n_out=1, gate_activation="softmax"))
    cells = np.tanh(x @ built.table["W"][:, :1])
    built.table["RW"].fill(0)
    expected = np.tanh(np.cumsum(cells, axis=1))
    np.testing.assert_allclose(built.forward(x), expected, rtol=1e-12)


def test_the_mask_layer_drops_pixels(rng):
    built = Built(dl.Mask(), dl.Convolutional(height=2, width=3, channels=2))
    images = rng.standard_normal((2, 2, 3, 2))
    mask = np.array([[1, 0], [1, 1.0]])[:, :, None, None]
    np.testing.assert_array_equal(built.forward(images, mask), images * mask)


def test_the_mask_layer_drops_whole_images(rng):
    built = Built(dl.Mask(), dl.Convolutional(height=2, width=3, channels=2))
    output = built.forward(rng.standard_normal((2, 2, 3, 2)), np.array([[1], [0.0]]))
    assert (output[0] != 0).all()
    np.testing.assert_array_equal(output[1], 0)


def test_a_mask_of_other_pixels_is_refused(rng):
    built = Built(dl.Mask(), dl.Convolutional(height=2, width=3, channels=2))
    with pytest.raises(
        ShapeError, match=r"'me': the mask must have shape \(2, 2, 3, 2\), or 1"
    ):
        built.forward(rng.standard_normal((2, 2, 3, 2)), np.ones((2, 3, 3, 1)))


@pytest.mark.parametrize("kind", ["lstm", "graves"])
def test_only_the_forget_gate_begins_with_a_bias(kind):
    conf = RECURRENT[kind].replaced(forget_gate_bias_init=2.5)
    bias = Built(conf).table["b"].reshape(4, 2)
    np.testing.assert_array_equal(bias, [[0, 0], [2.5, 2.5], [0, 0], [0, 0]])


@pytest.mark.parametrize("kind", RECURRENT)
def test_recurrent_weights_have_a_rule_of_their_own(kind):
    conf = RECURRENT[kind].replaced(weight_init_recurrent="ones")
    table = Built(conf).table
    np.testing.assert_array_equal(table["RW"], 1)
    assert (table["W"] != 1).all()


def test_so_have_those_of_both_graves_lstms():
    """DL4J ignores it here."""
    conf = dl.GravesBidirectionalLSTM(n_out=2, weight_init_recurrent="ones")
    table = Built(conf).table
    np.testing.assert_array_equal(table["RWF"], 1)
    np.testing.assert_array_equal(table["RWB"], 1)


def test_gains_begin_with_their_option():
    conf = dl.SimpleRnn(n_out=2, has_layer_norm=True, gain_init=1.5, bias_init=0.5)
    table = Built(conf).table
    np.testing.assert_array_equal(table["g"], [1.5] * 4)
    np.testing.assert_array_equal(table["b"], [0.5] * 2)


@pytest.mark.parametrize("kind", [dl.SimpleRnn, dl.Dense])
def test_gains_are_not_regularized_but_in_dl4j(kind):
    conf = kind(n_out=2, has_layer_norm=True)
    for given, penalty in ((conf, None), (in_dl4j(conf), "weights")):
        (gain,) = [item for item in given.parameters(SERIES) if item.name == "g"]
        assert gain.treatment.penalty == penalty


def test_the_score_of_steps_does_not_know_where_the_features_are(rng):
    """DL4J compares NWC series with their input in place of the labels."""
    series, labels = rng.random((2, 3, 4, 5))
    first, last = (
        dl.MultiLayerNetwork(
            dl.MultiLayerConfiguration(
                input=dl.Recurrent(size=4, data_format=data_format),
                layers=[dl.RnnLoss(loss="mse")],
                dtype="float64",
            )
        )
        for data_format in ("NCW", "NWC")
    )
    turned = dl.DataSet(series.transpose(0, 2, 1), labels.transpose(0, 2, 1))
    score = first.compute_score(dl.DataSet(series, labels))
    assert last.compute_score(turned) == pytest.approx(score, rel=1e-12)


@pytest.mark.parametrize("kind", RECURRENT)
def test_a_state_of_another_minibatch_is_refused(x, kind):
    built = Built(RECURRENT[kind])
    built.layer.run.carries_state = True
    built.forward(x)
    with pytest.raises(
        ShapeError, match=r"'me': x must have as many examples as the state.*3, got 2"
    ):
        built.forward(x[:2])


@pytest.mark.parametrize(
    "conf",
    [dl.Bidirectional(layer=dl.LSTM(n_out=2)), dl.GravesBidirectionalLSTM(n_out=2)],
)
def test_what_reads_from_both_ends_cannot_go_on(x, conf):
    built = Built(conf)
    built.layer.run.carries_state = True
    with pytest.raises(OptionError, match="must get whole series because it reads"):
        built.forward(x)


@pytest.mark.parametrize("kind", ["reverse", "last"])
def test_vertices_of_series_refuse_rows(kind):
    conf = {"reverse": dl.ReverseTimeSeriesVertex(), "last": dl.LastTimeStepVertex()}
    with pytest.raises(OptionError, match="inputs: must be a time series, got rows"):
        conf[kind].output_type([FeedForward(size=3)])


SERIES_ONLY = {
    "lstm": dl.LSTM(n_out=2),
    "simple rnn": dl.SimpleRnn(n_out=2),
    "bidirectional": dl.Bidirectional(layer=dl.LSTM(n_out=2)),
    "last time step": dl.LastTimeStep(layer=dl.LSTM(n_out=2)),
    "mask zero": dl.MaskZero(layer=dl.LSTM(n_out=2)),
    "time distributed": dl.TimeDistributed(layer=dl.Dense(n_out=2)),
    "rnn loss": dl.RnnLoss(),
}


@pytest.mark.parametrize("name", SERIES_ONLY)
def test_rows_are_refused(name):
    with pytest.raises(OptionError, match=r"needs time series.*, got FeedForward"):
        SERIES_ONLY[name].output_type(FeedForward(size=3))


@pytest.mark.parametrize(
    ("conf", "message"),
    [
        (
            dl.LastTimeStep(layer=dl.RnnOutput(n_out=2)),
            "layer: must be no output layer, got RnnOutput",
        ),
        (
            dl.LastTimeStep(layer=dl.LSTM(n_out=2, inputs=["a"])),
            r"layer.inputs: must be left out: the wrapper's count, got \('a',\)",
        ),
        (
            dl.LastTimeStep(layer=dl.LSTM(n_out=2, n_in=7)),
            r"layer.n_in: must be 3, what the layer gets",
        ),
        (
            dl.LastTimeStep(layer=dl.LastTimeStep(layer=dl.LSTM(n_out=2))),
            "layer: must give time series, got one that gives FeedForward",
        ),
        (
            dl.TimeDistributed(
                layer=dl.LSTM(n_out=2, preprocessor="feed_forward_to_rnn")
            ),
            "layer: must give rows, got one that gives Recurrent",
        ),
    ],
)
def test_layers_that_cannot_be_wrapped_are_refused(conf, message):
    with pytest.raises(OptionError, match=message):
        conf.output_type(SERIES)


def test_the_preprocessor_of_a_wrapped_layer_works(x):
    """Rows of steps come back as steps: the wrapped layer sees rows between."""
    conf = dl.MaskZero(
        layer=dl.LSTM(
            n_out=2,
            preprocessor={
                "type": "composable",
                "preprocessors": ["rnn_to_feed_forward", "feed_forward_to_rnn"],
            },
        )
    )
    built, plain = Built(conf), Built(dl.MaskZero(layer=dl.LSTM(n_out=2)))
    plain.params[...] = built.params
    np.testing.assert_array_equal(built.forward(x), plain.forward(x))


def test_a_wrapper_is_made_from_a_mapping():
    conf = dl.MultiLayerConfiguration(
        input={"type": "recurrent", "size": 3},
        layers=[
            {
                "type": "last_time_step",
                "layer": {
                    "type": "bidirectional",
                    "layer": {"type": "lstm", "n_out": 2},
                },
            },
            {"type": "output", "n_out": 2},
        ],
    )
    expected = dl.LastTimeStep(layer=dl.Bidirectional(layer=dl.LSTM(n_out=2)))
    assert conf.layers[0] == expected


def test_in_a_graph_the_bare_name_is_that_of_the_vertex():
    conf = dl.ComputationGraphConfiguration(
        inputs={"in": Recurrent(size=3)},
        vertices={
            "a": {"type": "last_time_step_layer", "layer": "mask", "inputs": "in"},
            "b": {"type": "last_time_step", "inputs": "in"},
            "m": {"type": "merge", "inputs": ["a", "b"]},
            "out": {"type": "output", "n_out": 2, "inputs": "m"},
        },
        outputs=["out"],
    )
    kinds = {name: type(vertex).__name__ for name, vertex in conf.vertices.items()}
    assert kinds["a"] == "LastTimeStep"
    assert kinds["b"] == "LastTimeStepVertex"


def test_a_wrapper_has_the_order_of_its_layer_in_files_of_dl4j():
    conf = dl.Bidirectional(layer=dl.MaskZero(layer=dl.SimpleRnn(n_out=2)))
    assert conf.file_order(SERIES) == ("fW", "fRW", "fb", "bW", "bRW", "bb")


def test_a_wrapper_keeps_what_its_layer_says_of_training():
    conf = dl.Bidirectional(layer=dl.LSTM(n_out=2, l2=0.25, keep_probability=0.5))
    filled = conf.filled(NetworkConf().defaults(), SERIES, "me")
    assert filled.trained.l2 == 0.25
    assert filled.draws_random_numbers
    assert filled.layer.name == "me"
