"""Gradients that nobody reads are not computed, and nothing else changes."""

import numpy as np
import pytest

from daskdl import (
    LSTM,
    Activation,
    BatchNormalization,
    Convolution2D,
    Dense,
    Dropout,
    ElementWiseVertex,
    MergeVertex,
    Output,
    RnnOutput,
    Subsampling,
)
from daskdl.data.dataset import DataSet
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.nn.conf.input_type import Convolutional, FeedForward, Recurrent
from daskdl.nn.conf.network import ComputationGraphConfiguration
from daskdl.nn.graph import ComputationGraph
from tests.unit.networks.small import rows, sequence


def layers_of(network):
    return {part.name: part for _, part in network._program.parts}


def runs_of(network):
    return {run.name: run for run in network._program.runs}


def needing(network):
    return [name for name, run in runs_of(network).items() if run.needs_grad_x]


def gradients(network, batch):
    network.compute_gradients(batch)
    return network.gradients.copy()


def with_every_gradient(network):
    """Return a copy that computes all of them, as a check of the shorter way."""
    network = network.clone()
    for run in runs_of(network).values():
        run.needs_grad_x = True
    return network


FIRST_LAYERS = {
    "dense": Dense(n_out=5, keep_probability=0.8),
    "batch normalization": BatchNormalization(),
}


@pytest.mark.parametrize("name", FIRST_LAYERS)
def test_the_first_layer_is_spared(rng, name):
    network = sequence(FeedForward(size=4), FIRST_LAYERS[name], Output(n_out=3))
    assert needing(network) == ["layer1"]
    batch = rows(rng)
    expected = gradients(with_every_gradient(network), batch)
    np.testing.assert_array_equal(gradients(network, batch), expected)


def test_a_first_convolution_is_spared(rng):
    network = sequence(
        Convolutional(height=6, width=6, channels=2),
        Convolution2D(n_out=3, kernel_size=(3, 3)),
        Subsampling(),
        Output(n_out=3),
    )
    batch = DataSet(rng.standard_normal((5, 2, 6, 6)), np.eye(3)[[0, 1, 2, 0, 1]])
    assert needing(network) == ["layer1", "layer2"]
    expected = gradients(with_every_gradient(network), batch)
    np.testing.assert_array_equal(gradients(network, batch), expected)


def test_a_first_lstm_is_spared(rng):
    network = sequence(
        Recurrent(size=3), LSTM(n_out=4, keep_probability=0.5), RnnOutput(n_out=2)
    )
    labels = np.moveaxis(np.eye(2)[rng.integers(0, 2, (5, 6))], -1, 1)
    batch = DataSet(rng.standard_normal((5, 3, 6)), labels)
    assert needing(network) == ["layer1"]
    expected = gradients(with_every_gradient(network), batch)
    np.testing.assert_array_equal(gradients(network, batch), expected)


def test_layers_in_front_of_the_first_parameters_do_not_run_backward(rng):
    network = sequence(
        FeedForward(size=4),
        Dropout(keep_probability=0.9),
        Activation(activation="tanh"),
        Dense(n_out=5),
        Output(n_out=3),
    )
    for name in ("layer0", "layer1"):
        layers_of(network)[name].backward = None
    assert np.isfinite(gradients(network, rows(rng))).all()


def test_an_output_layer_alone_is_spared_too(rng):
    network = sequence(FeedForward(size=4), Output(n_out=3))
    assert needing(network) == []
    assert gradients(network, rows(rng)).any()


def test_a_graph_spares_what_reads_its_inputs_only(rng):
    """Merged with an input, a dense layer still gets its gradient."""
    network = ComputationGraph(
        ComputationGraphConfiguration(
            inputs={"a": FeedForward(size=4), "b": FeedForward(size=4)},
            vertices={
                "sum": ElementWiseVertex(op="add", inputs=["a", "b"]),
                "drop": Dropout(keep_probability=0.7, inputs=["sum"]),
                "d": Dense(n_out=3, inputs=["drop"]),
                "m": MergeVertex(inputs=["d", "drop"]),
                "e": Dense(n_out=3, inputs=["m"]),
                "out": Output(n_out=2, inputs=["e"]),
            },
            outputs=["out"],
        )
    )
    assert needing(network) == ["e", "out"]
    batch = MultiDataSet(
        [rng.standard_normal((6, 4)), rng.standard_normal((6, 4))],
        [np.eye(2)[[0, 1, 1, 0, 1, 0]]],
    )
    expected = gradients(with_every_gradient(network), batch)
    layers_of(network)["drop"].backward = None
    np.testing.assert_array_equal(gradients(network, batch), expected)
