"""Parameters and updater state in the order of DL4J's files, and bounded streams."""

from io import BytesIO

import numpy as np
import pytest

import daskdl as dl
from daskdl.dl4j.network.bounded_stream import bounded
from daskdl.dl4j.network.model_zip import state_order
from daskdl.dl4j.network.parameters import from_dl4j, from_file, to_dl4j, to_file
from daskdl.errors import FormatError
from daskdl.nn.build import build_network
from daskdl.nn.conf.input_type import Convolutional, FeedForward
from daskdl.nn.conf.parameters import Parameter


def network(*layers, input_type=None, updater="sgd"):
    return build_network(
        dl.MultiLayerConfiguration(
            input=input_type or FeedForward(size=2), layers=layers, updater=updater
        )
    )


@pytest.fixture
def images():
    return network(
        dl.Convolution2D(n_out=2, kernel_size=(1, 2)),
        dl.Output(n_out=2),
        input_type=Convolutional(height=1, width=2, channels=3),
    )


def test_weights_of_rows_lie_column_by_column():
    output = network(dl.Output(n_out=3))
    output.params[:6] = np.arange(6).reshape(2, 3).ravel()
    np.testing.assert_array_equal(
        to_dl4j(output, output.params)[:6], [0, 3, 1, 4, 2, 5]
    )


def test_biases_of_convolutions_come_first(images):
    """And their weights have the axes (out, in, height, width), row by row."""
    images.param_table()["0_b"][...] = [1, 2]
    weights = images.param_table()["0_W"]
    weights[...] = np.arange(weights.size).reshape(weights.shape)
    found = to_dl4j(images, images.params)
    np.testing.assert_array_equal(found[:2], [1, 2])
    by_axes = found[2 : 2 + weights.size].reshape(2, 3, 1, 2)
    np.testing.assert_array_equal(by_axes.transpose(2, 3, 1, 0), weights)


def test_both_ways_undo_each_other(images, rng):
    vector = rng.standard_normal(images.n_params)
    np.testing.assert_array_equal(from_dl4j(images, to_dl4j(images, vector)), vector)
    np.testing.assert_array_equal(to_dl4j(images, from_dl4j(images, vector)), vector)


def test_whole_numbers_are_put_in_order_too(images):
    positions = to_dl4j(images, np.arange(images.n_params))
    assert positions.dtype == np.int64
    assert sorted(positions) == list(range(images.n_params))


def test_a_network_without_parameters_has_an_empty_vector():
    empty = network(dl.Activation(), dl.LossLayer(loss="mse"))
    assert to_dl4j(empty, empty.params).shape == (0,)
    assert from_dl4j(empty, np.empty(0)).shape == (0,)


@pytest.mark.parametrize("size", [0, 8, 10])
def test_another_number_of_parameters_is_refused(size):
    with pytest.raises(FormatError, match=f"x.bin: must hold 9 numbers, .* got {size}"):
        from_dl4j(network(dl.Output(n_out=3)), np.zeros(size), who="x.bin")


def test_a_parameter_with_other_axes(rng):
    parameter = Parameter("W", (2, 3, 4), axes=(2, 0, 1), order="c")
    values = rng.standard_normal((2, 3, 4))
    written = to_file(parameter, values.ravel())
    np.testing.assert_array_equal(written.reshape(4, 2, 3), values.transpose(2, 0, 1))
    np.testing.assert_array_equal(from_file(parameter, written), values)


def test_the_state_of_equal_updaters_lies_part_by_part():
    """Both layers make one block: first all first moments, then all second ones."""
    adam = network(dl.Dense(n_out=1), dl.Output(n_out=1, loss="mse"), updater="adam")
    order = state_order(adam)
    state = np.zeros(10)
    state[order] = np.arange(10)
    half = to_dl4j(adam, np.arange(adam.n_params))
    assert sorted(order) == list(range(10))
    np.testing.assert_array_equal(state[order][:5], half)


def test_the_state_of_other_updaters_lies_layer_by_layer():
    first = dl.Dense(n_out=1, updater={"type": "adam", "learning_rate": 0.1})
    adam = network(first, dl.Output(n_out=1, loss="mse"), updater="adam")
    np.testing.assert_array_equal(state_order(adam), np.arange(10))


def test_a_stream_ends_where_it_may():
    stream = bounded(BytesIO(b"12345"), 5, "f")
    assert (stream.read(2), stream.read(9), stream.read()) == (b"12", b"345", b"")


@pytest.mark.parametrize("n_bytes", [-1, 5, 100])
def test_a_stream_that_is_longer_is_refused(n_bytes):
    stream = bounded(BytesIO(b"12345"), 4, "f")
    with pytest.raises(FormatError, match="f: must have at most 4 bytes, got more"):
        stream.read(n_bytes)
