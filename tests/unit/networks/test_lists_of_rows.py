"""Lists of rows are an array wherever one array is asked for."""

import numpy as np
import pytest

import daskdl
from daskdl.errors import DataError, ShapeError

ROWS = np.linspace(-1, 1, 12).reshape(3, 4)
SERIES = np.linspace(-1, 1, 30).reshape(3, 2, 5)


def rows_network(*before):
    return daskdl.MultiLayerNetwork(
        daskdl.MultiLayerConfiguration(
            input=daskdl.FeedForward(size=4), layers=[*before, daskdl.Output(n_out=2)]
        )
    )


def series_network():
    return daskdl.MultiLayerNetwork(
        daskdl.MultiLayerConfiguration(
            input=daskdl.Recurrent(size=2),
            layers=[daskdl.LSTM(n_out=3), daskdl.RnnOutput(n_out=2)],
        )
    )


FORMS = {
    "lists": ROWS.tolist(),
    "tuples": tuple(map(tuple, ROWS)),
    "list of rows": list(ROWS),
    "list of one array": [ROWS],
    "list of one list": [ROWS.tolist()],
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_output_takes_rows(form):
    net = rows_network()
    assert np.array_equal(net.output(form), net.output(ROWS))


def test_output_takes_one_row():
    net = rows_network()
    assert np.array_equal(net.output(ROWS[:1].tolist()), net.output(ROWS[:1]))


def test_output_takes_series_and_masks():
    net = series_network()
    mask = np.array([[1, 1, 1, 0, 0]] * 3)
    given = net.output(SERIES.tolist(), labels_mask=mask.tolist())
    assert np.array_equal(given, net.output(SERIES, labels_mask=mask))


def test_single_steps_are_rows():
    net = series_network()
    expected = net.rnn_time_step(SERIES[:, :, 0])
    net.rnn_clear_previous_state()
    assert np.array_equal(net.rnn_time_step(SERIES[:, :, 0].tolist()), expected)


def test_pretrain_takes_rows():
    nets = [rows_network(daskdl.AutoEncoder(n_out=3, loss="mse")) for _ in range(2)]
    nets[0].pretrain(ROWS.tolist(), batch_size=2)
    nets[1].pretrain(ROWS, batch_size=2)
    assert np.array_equal(nets[0].params, nets[1].params)


def test_message_has_the_shape_that_came():
    with pytest.raises(ShapeError, match=r"must have shape \(batch, 4\), got \(3,\)"):
        rows_network().output([1, 2, 3])
    with pytest.raises(ShapeError, match=r"features must be 1 array, got 2"):
        rows_network().output([ROWS, ROWS])
    with pytest.raises(DataError, match=r"labels must be given, got none"):
        rows_network().fit(ROWS.tolist())


def test_description_of_a_tuple_does_not_grow():
    features, labels = tuple(map(tuple, np.ones((400, 4)))), (0,) * 400
    with pytest.raises(DataError, match=r"tuple of tuple, .*, 395 more") as caught:
        rows_network().fit((features, labels), batch_size=10)
    assert len(str(caught.value)) < 250
