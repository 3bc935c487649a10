"""What networks take and give: data formats, several inputs and outputs, refusals."""

import numpy as np
import pytest

from daskdl import Convolution2D, Dense, GlobalPooling, Output
from daskdl.data.dataset import DataSet
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.errors import DataError, ShapeError
from daskdl.nn.conf.input_type import (
    Convolutional,
    ConvolutionalFlat,
    FeedForward,
    Recurrent,
)
from daskdl.nn.conf.network import ComputationGraphConfiguration
from daskdl.nn.graph import ComputationGraph
from tests.unit.networks.small import mlp, rnn, rows, sequence, two_in_two_out


@pytest.fixture
def data(rng):
    return rows(rng)


# Data formats


def test_flattened_images_may_come_as_images(rng):
    images = rng.standard_normal((2, 3, 5, 4)).astype(np.float32)
    rows_of_images = images.reshape(2, -1)
    size = {"height": 5, "width": 4, "channels": 3}
    behind = {"preprocessor": {"type": "feed_forward_to_cnn", **size}}
    for input_type, more in (
        (ConvolutionalFlat(**size), {}),
        (FeedForward(size=60), behind),
    ):
        first = Convolution2D(n_out=2, kernel_size=2, **more)
        network = sequence(input_type, first, Output(n_out=2))
        expected = network.output(rows_of_images)
        np.testing.assert_array_equal(network.output(images), expected)
        with pytest.raises(ShapeError, match=r"\(batch, 60\) or \(batch, 3, 5, 4\)"):
            network.output(images[:, :2])


def test_rows_do_not_come_as_images(rng):
    with pytest.raises(ShapeError, match=r"\(batch, 4\), got"):
        mlp().output(rng.standard_normal((2, 1, 2, 2)))


def test_time_series_come_and_go_in_the_data_format(rng):
    """The same numbers, once (batch, features, time), once (batch, time, features)."""
    series = rng.standard_normal((2, 3, 5)).astype(np.float32)
    expected = rnn("NCW").output(series)
    found = rnn("NWC").output(series.transpose(0, 2, 1))
    assert expected.shape == (2, 2, 5)
    np.testing.assert_array_equal(found.transpose(0, 2, 1), expected)


def test_images_come_in_three_forms(rng):
    """Channels first, channels last, and as rows, channel by channel."""
    images = rng.standard_normal((2, 3, 5, 4)).astype(np.float32)
    size = {"height": 5, "width": 4, "channels": 3}
    layers = [Convolution2D(n_out=2, kernel_size=2), GlobalPooling(), Output(n_out=2)]
    first, last, flat = (
        sequence(input_type, *layers)
        for input_type in (
            Convolutional(**size),
            Convolutional(**size, data_format="NHWC"),
            ConvolutionalFlat(**size),
        )
    )
    expected = first.output(images)
    np.testing.assert_array_equal(last.output(images.transpose(0, 2, 3, 1)), expected)
    np.testing.assert_array_equal(flat.output(images.reshape(2, -1)), expected)


def test_output_is_a_new_array(data):
    network = mlp()
    first = network.output(data.features)
    before = first.copy()
    network.output(data.features + 1)
    np.testing.assert_array_equal(first, before)


def test_output_takes_a_mask_of_the_features(rng):
    """Only what the mask keeps counts for the mean over time."""
    network = sequence(
        Recurrent(size=3), GlobalPooling(pooling_type="avg"), Output(n_out=2)
    )
    series = rng.standard_normal((2, 3, 5))
    mask = np.array([[1, 1, 0, 0, 0], [1, 1, 0, 0, 0]])
    np.testing.assert_allclose(
        network.output(series, features_mask=mask),
        network.output(series[:, :, :2]),
        rtol=1e-6,
    )


def test_features_may_be_integers():
    assert mlp().output(np.zeros((2, 4), int)).shape == (2, 3)


@pytest.mark.parametrize(
    ("network", "batch", "message"),
    [
        (
            mlp(),
            DataSet(np.zeros((5, 3)), np.zeros((5, 3))),
            r"layer0 \(Dense\): features must have shape \(batch, 4\), got \(5, 3\)",
        ),
        (
            mlp(),
            DataSet(np.zeros((5, 4)), np.zeros((5, 2))),
            r"layer1 \(Output\): labels must have shape \(batch, 3\), got \(5, 2\)",
        ),
        (
            mlp(),
            DataSet(np.zeros((5, 4)), np.zeros((5, 3)), np.zeros((5, 4))),
            r"layer0 \(Dense\): features_mask must be left out .*got shape \(5, 4\)",
        ),
        (
            mlp(),
            DataSet(np.zeros((5, 4)), np.zeros((5, 3)), None, np.zeros((5, 2))),
            r"layer1 \(Output\): labels_mask must have shape \(5, 1\) or \(5, 3\), got",
        ),
        (
            rnn(),
            DataSet(np.zeros((5, 7, 3)), np.zeros((5, 2, 7))),
            r"layer0 \(LSTM\): features must have shape \(batch, 3, time\) \(NCW\), ",
        ),
        (
            rnn(),
            DataSet(np.zeros((5, 3, 7)), np.zeros((5, 2, 6))),
            r"layer1 \(RnnOutput\): labels must have 7 time steps .*got 6",
        ),
        (
            rnn(),
            DataSet(np.zeros((5, 3, 7)), np.zeros((5, 2, 7)), np.zeros((5, 3))),
            r"features_mask must have shape \(batch, time\) = \(5, 7\), got \(5, 3\)",
        ),
        (
            mlp(),
            MultiDataSet([np.zeros((5, 4))] * 2, [np.zeros((5, 3))]),
            "MultiLayerNetwork: features must be 1 array, got 2",
        ),
    ],
)
def test_a_batch_that_does_not_fit_is_refused_naming_the_layer(network, batch, message):
    with pytest.raises(ShapeError, match=message):
        network.check_batch(batch)


def test_training_needs_labels():
    with pytest.raises(DataError, match="labels must be given, got none"):
        mlp().fit(DataSet(np.zeros((5, 4))))


@pytest.mark.parametrize(
    ("loss", "activation", "labels", "message"),
    [
        ("xent", "sigmoid", [[0, 1, 2]], r"'xent' must be from 0 to 1, got 2 in row 0"),
        ("sparse_mcxent", "softmax", [[3]], r"'sparse_mcxent' must be whole numbers"),
    ],
)
def test_labels_without_a_meaning_are_refused(loss, activation, labels, message):
    """A class beyond the last one would count as no class at all."""
    network = sequence(
        FeedForward(size=4), Output(n_out=3, loss=loss, activation=activation)
    )
    with pytest.raises(DataError, match=rf"^MultiLayerNetwork.fit: lab.* {message}"):
        network.fit(DataSet(np.zeros((1, 4)), np.array(labels)))


def test_a_refused_batch_leaves_the_network_as_it_was(data):
    network = mlp()
    before = network.params.copy()
    with pytest.raises(ShapeError, match="must have shape"):
        network.fit(DataSet(np.zeros((5, 3)), np.zeros((5, 3))))
    np.testing.assert_array_equal(network.params, before)
    assert network.iteration_count == 0


def test_a_graph_gives_its_outputs_in_the_order_of_the_configuration(rng):
    outputs = two_in_two_out().output([np.zeros((5, 4)), np.zeros((5, 2))])
    assert [output.shape for output in outputs] == [(5, 1), (5, 3)]


def test_a_graph_names_its_parameters_after_the_vertices():
    names = [slot.name for slot in two_in_two_out().layout]
    assert names == ["d_W", "d_b", "o2_W", "o2_b", "o1_W", "o1_b"]


def test_a_graph_describes_its_ports():
    graph = two_in_two_out()
    assert (graph.n_outputs, graph.output_layer_n_out) == (2, [1, 3])
    assert graph.input_types == [FeedForward(size=4), FeedForward(size=2)]


def test_a_graph_of_one_path_is_the_sequence(data):
    graph = ComputationGraph(
        ComputationGraphConfiguration(
            inputs={"x": FeedForward(size=4)},
            vertices={
                "dense": Dense(n_out=5, activation="tanh", inputs=["x"]),
                "out": Output(n_out=3, inputs=["dense"]),
            },
            outputs=["out"],
            updater="adam",
        )
    )
    network = mlp()
    network.params[...] = graph.params
    graph.fit(data, epochs=3)
    np.testing.assert_array_equal(graph.params, network.fit(data, epochs=3).params)


def test_a_graph_names_the_input_that_does_not_fit():
    with pytest.raises(ShapeError, match=r"input 'b': features must have shape \(bat"):
        two_in_two_out().output([np.zeros((5, 4)), np.zeros((5, 3))])


def test_a_graph_counts_its_inputs():
    with pytest.raises(ShapeError, match="features must be 2 arrays, got 1"):
        two_in_two_out().output(np.zeros((5, 4)))
