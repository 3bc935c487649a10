"""Gradients of stretches of time steps: derivatives, back to where they are cut."""

from itertools import pairwise

import numpy as np
import pytest

import daskdl as dl
from tests.dialects import DL4J
from tests.gradients import check_gradient
from tests.unit.networks.test_truncated_backpropagation import STILL, cut, network

OUTPUT = dl.RnnOutput(n_out=2)
LAYERS = {
    "lstm": dl.LSTM(n_out=3),
    "softsign": dl.LSTM(n_out=3, activation="softsign"),
    "graves": dl.GravesLSTM(n_out=3),
    "simple": dl.SimpleRnn(n_out=3),
    "normalized": dl.SimpleRnn(n_out=3, has_layer_norm=True),
    "wrapped": dl.MaskZero(layer=dl.SimpleRnn(n_out=3)),
}
every_layer = pytest.mark.parametrize("layer", LAYERS.values(), ids=LAYERS)


@pytest.fixture
def data(rng):
    labels = np.eye(2)[rng.integers(0, 2, (3, 8))].transpose(0, 2, 1)
    masks = np.ones((3, 8)), np.ones((3, 8))
    return dl.DataSet(rng.standard_normal((3, 3, 8)), labels, *masks)


@every_layer
def test_gradients_behind_the_first_stretch_are_derivatives(data, layer):
    """The state that is carried over is a constant."""
    net = network(layer, dl.LSTM(n_out=2), OUTPUT, length=4)
    segments = net.segments(data)
    net.compute_gradients(next(segments))
    second = next(segments)
    states = [run.state for run in net._program.runs]

    def loss_and_grad(vector):
        net.params[...] = vector
        for held, state in zip(net._program.runs, states, strict=True):
            held.state = state
        score = net.compute_gradients(second)
        return score, net.gradients

    check_gradient(loss_and_grad, net.params.copy())
    segments.close()


def sums_over(net, data, borders):
    """Return the gradients of stretches, added up."""
    net = dl.MultiLayerNetwork(
        net.conf.replaced(backprop_type="truncated_bptt", tbptt_back_length=None),
        net.params,
    )
    total = np.zeros_like(net.gradients)
    segments = net.segments(data)
    next(segments)  # layers carry their state from here on
    for start, stop in pairwise(borders):
        net.compute_gradients(cut(data, start, stop))
        total += net.gradients
    segments.close()
    return total


@every_layer
@pytest.mark.parametrize(
    ("back", "borders"),
    [(1, range(9)), (3, [0, 3, 6, 8]), (4, [0, 4, 8]), (8, [0, 8]), (9, [0, 8])],
)
def test_no_gradient_flows_further_back_than_it_may(data, layer, back, borders):
    """Nothing else changes: as if each stretch of the way back came alone."""
    net = network(layer, OUTPUT, length=8, tbptt_back_length=back, updater=STILL)
    expected = sums_over(net, data, borders)
    segments = net.segments(data)
    net.compute_gradients(next(segments))
    segments.close()
    np.testing.assert_allclose(net.gradients, expected, rtol=1e-9, atol=1e-13)


def test_the_way_back_is_a_whole_stretch_unless_said(data):
    said, unsaid = (network(length=8, tbptt_back_length=k) for k in (8, None))
    said.fit_minibatch(data)
    unsaid.fit_minibatch(data)
    np.testing.assert_array_equal(said.params, unsaid.params)


def test_gradients_in_front_are_cut_as_well(data):
    """A layer below the recurrent one gets what its stretch sends back."""
    below = dl.Convolution1D(n_out=3, kernel_size=1, activation="tanh")
    net = network(below, dl.LSTM(n_out=3), OUTPUT, length=8, tbptt_back_length=4)
    expected = sums_over(net, data, [0, 4, 8])
    segments = net.segments(data)
    net.compute_gradients(next(segments))
    segments.close()
    np.testing.assert_allclose(net.gradients, expected, rtol=1e-9, atol=1e-13)


@every_layer
def test_padding_moves_no_cut(data, layer):
    net = network(layer, OUTPUT, length=8, tbptt_back_length=3, updater=STILL)
    padded = dl.DataSet(data.features, data.labels, np.ones((3, 8)), np.ones((3, 8)))
    padded.features_mask[:, 5:] = padded.labels_mask[:, 5:] = 0
    gradients = []
    for batch in (cut(data, 0, 5), padded):
        segments = net.segments(batch)
        net.compute_gradients(next(segments))
        segments.close()
        gradients.append(net.gradients.copy())
    np.testing.assert_allclose(*gradients, rtol=1e-9, atol=1e-13)


def test_prediction_looks_as_far_back_as_it_can(data):
    short, long = (network(length=8, tbptt_back_length=k) for k in (1, 8))
    long.params[...] = short.params
    np.testing.assert_array_equal(
        short.rnn_time_step(data.features), long.rnn_time_step(data.features)
    )


@pytest.mark.parametrize(
    "layer", [dl.LSTM(n_out=4), dl.GravesLSTM(n_out=4), dl.SimpleRnn(n_out=4)]
)
def test_gradients_of_recurrent_layers_begin_with_zeros_in_dl4j(data, layer):
    """They come from a forward pass that forgot the state.

    Seen from the output layer, they are those of its own gradient and of that pass.
    """
    output = dl.RnnOutput(n_out=2, loss="mse", activation="identity")
    net, other = (network(layer, output, dialect=DL4J) for _ in range(2))
    other.params[...] = net.params
    segments = net.segments(data)
    net.compute_gradients(next(segments))
    second = next(segments)
    recurrent = net._program.runs[0]
    state = recurrent.state
    shown = net.rnn_time_step(second.features)
    recurrent.state = state
    net.compute_gradients(second)
    segments.close()
    # Other labels that are as far from what comes out of zeros as the labels are from
    # what came out of the state give the same gradient to the layer below.
    labels = other.output(second.features) - (shown - second.labels)
    other.compute_gradients(dl.DataSet(second.features, labels))
    size = net.layout["1_W"].offset
    np.testing.assert_allclose(
        net.gradients[:size], other.gradients[:size], rtol=1e-10, atol=1e-14
    )


def test_the_length_of_the_way_back_changes_nothing_in_dl4j(data):
    short, long = (network(tbptt_back_length=k, dialect=DL4J) for k in (1, 3))
    short.fit_minibatch(data)
    long.fit_minibatch(data)
    np.testing.assert_array_equal(short.params, long.params)
