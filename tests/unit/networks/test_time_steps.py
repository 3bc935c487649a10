"""Prediction stretch by stretch: the state stays until it is cleared."""

import numpy as np
import pytest

import daskdl as dl
from daskdl.errors import OptionError, ShapeError

SERIES = dl.Recurrent(size=3)
LAYERS = {
    "lstm": dl.LSTM(n_out=4),
    "graves lstm": dl.GravesLSTM(n_out=4),
    "simple rnn": dl.SimpleRnn(n_out=4),
    "mask zero": dl.MaskZero(layer=dl.LSTM(n_out=4)),
}


def network(layer=LAYERS["lstm"], output=dl.RnnOutput(n_out=2), input_type=SERIES):  # noqa: B008
    return dl.MultiLayerNetwork(
        dl.MultiLayerConfiguration(
            input=input_type, layers=[layer, output], dtype="float64"
        )
    )


@pytest.fixture
def features(rng):
    return rng.standard_normal((2, 3, 6))


@pytest.mark.parametrize("kind", LAYERS)
def test_stretches_give_what_whole_series_give(features, kind):
    net = network(LAYERS[kind])
    stretches = [net.rnn_time_step(features[:, :, part]) for part in (slice(4), [4, 5])]
    np.testing.assert_allclose(
        np.concatenate(stretches, axis=2), net.output(features), rtol=1e-12
    )


def test_one_step_needs_no_axis_of_time(features):
    net = network()
    steps = [net.rnn_time_step(features[:, :, step]) for step in range(6)]
    assert steps[0].shape == (2, 2)
    np.testing.assert_allclose(
        np.stack(steps, axis=2), net.output(features), rtol=1e-12
    )


def test_one_step_of_the_other_data_format(features):
    net = network(input_type=SERIES.replaced(data_format="NWC"))
    whole = net.output(features.transpose(0, 2, 1))
    steps = [net.rnn_time_step(features[:, :, step]) for step in range(6)]
    np.testing.assert_allclose(np.stack(steps, axis=1), whole, rtol=1e-12)


def test_rows_that_come_out_stay_rows(features):
    net = network(dl.LastTimeStep(layer=dl.LSTM(n_out=4)), dl.Output(n_out=2))
    net.rnn_time_step(features[:, :, :5])
    last = net.rnn_time_step(features[:, :, 5])
    np.testing.assert_allclose(last, net.output(features), rtol=1e-12)


def test_it_begins_anew_once_cleared(features):
    net = network()
    first = net.rnn_time_step(features)
    again = net.rnn_time_step(features)
    net.rnn_clear_previous_state()
    assert (again != first).any()
    np.testing.assert_array_equal(net.rnn_time_step(features), first)


def test_output_neither_uses_nor_changes_the_state(features):
    net, other = network(), network()
    before = net.output(features)
    net.rnn_time_step(features)
    np.testing.assert_array_equal(net.output(features), before)
    other.rnn_time_step(features)
    np.testing.assert_array_equal(
        net.rnn_time_step(features), other.rnn_time_step(features)
    )


def test_series_of_a_fixed_length_may_come_in_stretches(features):
    net = network(input_type=SERIES.replaced(time_steps=6))
    stretches = [net.rnn_time_step(features[:, :, part]) for part in (slice(4), [4, 5])]
    np.testing.assert_allclose(
        np.concatenate(stretches, axis=2), net.output(features), rtol=1e-12
    )


def test_several_inputs_and_outputs(features):
    net = dl.ComputationGraph(
        dl.ComputationGraphConfiguration(
            inputs={"a": SERIES, "b": dl.FeedForward(size=2)},
            vertices={
                "l": dl.LSTM(n_out=4, inputs=["a"]),
                "d": dl.Dense(n_out=2, inputs=["b"]),
                "o": dl.RnnOutput(n_out=2, inputs=["l"]),
                "p": dl.Output(n_out=2, inputs=["d"]),
            },
            outputs=["o", "p"],
            dtype="float64",
        )
    )
    rows = np.ones((2, 2))
    whole = net.output([features, rows])
    first, _ = net.rnn_time_step([features[:, :, :4], rows])
    second, of_rows = net.rnn_time_step([features[:, :, 4:], rows])
    assert net.rnn_time_step([features[:, :, 0], rows])[0].shape == (2, 2)
    np.testing.assert_allclose(
        np.concatenate([first, second], axis=2), whole[0], rtol=1e-12
    )
    np.testing.assert_array_equal(of_rows, whole[1])


def test_steps_and_rows_together_come_out_with_time(features):
    """As in DL4J only inputs that are all without time come out without."""
    net = dl.ComputationGraph(
        dl.ComputationGraphConfiguration(
            inputs={"a": SERIES, "b": SERIES},
            vertices={
                "la": dl.LSTM(n_out=4, inputs=["a"]),
                "lb": dl.LSTM(n_out=4, inputs=["b"]),
                "m": dl.MergeVertex(inputs=["la", "lb"]),
                "o": dl.RnnOutput(n_out=2, inputs=["m"]),
            },
            outputs=["o"],
        )
    )
    one = features[:, :, 0]
    assert net.rnn_time_step([one, features[:, :, :1]]).shape == (2, 2, 1)
    assert net.rnn_time_step([one, one]).shape == (2, 2)


def test_other_series_need_a_cleared_state(features):
    net = network()
    net.rnn_time_step(features)
    with pytest.raises(
        ShapeError,
        match=r"as many examples as the state that is carried over, 2, got 1",
    ):
        net.rnn_time_step(features[:1])
    net.rnn_clear_previous_state()
    net.rnn_time_step(features[:1])


def test_after_an_error_output_is_what_it_was(features):
    net = network()
    before = net.output(features)
    net.rnn_time_step(features)
    with pytest.raises(ShapeError):
        net.rnn_time_step(features[:1])
    np.testing.assert_array_equal(net.output(features), before)


def test_more_arrays_than_inputs_are_refused(features):
    with pytest.raises(ShapeError, match="features must be 1 array, got 2"):
        network().rnn_time_step([features, features])


def test_fewer_arrays_than_inputs_are_refused():
    with pytest.raises(ShapeError, match="features must be 1 array, got 0"):
        network().rnn_time_step([])


def test_features_of_another_width_are_refused(features):
    with pytest.raises(ShapeError, match=r"features must have shape \(batch, 3, time"):
        network().rnn_time_step(features[:, :2])


def test_both_directions_are_refused(features):
    net = network(dl.Bidirectional(layer=dl.LSTM(n_out=4)))
    with pytest.raises(OptionError, match="must get whole series because it reads"):
        net.rnn_time_step(features)


def test_a_clone_begins_with_zeros(features):
    net = network()
    first = net.rnn_time_step(features)
    np.testing.assert_array_equal(net.clone().rnn_time_step(features), first)


def test_an_error_leaves_all_states_as_they_were(features):
    """The first layer has gone on when the second refuses the stretch."""
    vertices = {
        "first": dl.LSTM(2, inputs=["a"]),
        "second": dl.LSTM(2, inputs=["b"]),
        "both": dl.MergeVertex(inputs=["first", "second"]),
        "out": dl.RnnOutput(2, inputs=["both"]),
    }
    conf = dl.ComputationGraphConfiguration(
        inputs={"a": SERIES, "b": SERIES}, vertices=vertices, outputs=["out"]
    )
    net = dl.ComputationGraph(conf)
    start, rest = features[:, :, :3], features[:, :, 3:]
    net.rnn_time_step([start, start])
    with pytest.raises(ShapeError):
        net.rnn_time_step([rest, rest[:1]])
    found = net.rnn_time_step([rest, rest])
    expected = net.output([features, features])[:, :, 3:]
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_a_stretch_has_a_step():
    with pytest.raises(ShapeError, match="must have at least one step"):
        network().rnn_time_step(np.zeros((2, 3, 0)))
