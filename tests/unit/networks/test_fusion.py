"""Networks in which parts work for the layer behind them, and the same without."""

import math

import numpy as np
import pytest

from daskdl import (
    LSTM,
    Activation,
    BatchNormalization,
    ComputationGraph,
    ComputationGraphConfiguration,
    Convolution1D,
    Convolution2D,
    DataSet,
    Dense,
    ElementWiseVertex,
    GlobalPooling,
    Output,
    RnnOutput,
    Subsampling,
)
from daskdl.nn.conf.input_type import Convolutional, FeedForward, Recurrent
from tests.gradients import check_gradient
from tests.memory import peak_bytes
from tests.unit.networks.fusion_cases import (
    IDENTITY,
    RELU,
    SGD,
    both_backends,
    both_types,
    close,
    handed_through,
    relu,
)
from tests.unit.networks.small import sequence

ROWS = FeedForward(size=4)


def residual(**options):
    """Return a residual block of images behind a stem, and its output."""
    convolution = {
        "n_out": 3,
        "kernel_size": 3,
        "convolution_mode": "same",
        "has_bias": False,
        **IDENTITY,
    }
    vertices = {
        "stem-conv": Convolution2D(inputs="image", **convolution),
        "stem-norm": BatchNormalization(inputs="stem-conv", beta=0.2),
        "stem": relu("stem-norm"),
        "conv": Convolution2D(inputs="stem", **convolution),
        "norm": BatchNormalization(inputs="conv"),
        "sum": ElementWiseVertex(op="add", inputs=["norm", "stem"]),
        "block": relu("sum"),
        "means": GlobalPooling(pooling_type="avg", inputs="block"),
        "out": Output(n_out=2, inputs="means"),
    }
    conf = ComputationGraphConfiguration(
        inputs={"image": Convolutional(height=5, width=4, channels=2)},
        vertices=vertices,
        outputs="out",
        updater=SGD,
        **options,
    )
    return ComputationGraph(conf)


def dense_rows(**options):
    return sequence(
        ROWS,
        Dense(n_out=5, **IDENTITY),
        RELU,
        Dense(n_out=6, has_bias=False, **IDENTITY),
        BatchNormalization(gamma=0.7),
        RELU,
        Output(n_out=2),
        updater=SGD,
        **options,
    )


def convolution(**options):
    return sequence(
        Convolutional(height=5, width=4, channels=2),
        Convolution2D(n_out=3, kernel_size=2, **IDENTITY),
        RELU,
        Output(n_out=2),
        updater=SGD,
        **options,
    )


def series(**options):
    return sequence(
        Recurrent(size=3),
        Dense(n_out=4, **IDENTITY),
        RELU,
        Convolution1D(n_out=4, kernel_size=3, convolution_mode="same", **IDENTITY),
        RELU,
        BatchNormalization(use_log_std=False),
        RELU,
        LSTM(n_out=3),
        RnnOutput(n_out=2),
        updater=SGD,
        **options,
    )


def pooled(**options):
    same = {"convolution_mode": "same", "kernel_size": (3, 2)}
    return sequence(
        Convolutional(height=5, width=4, channels=2),
        Convolution2D(n_out=3, activation="relu", **same),
        Subsampling(),
        Convolution2D(n_out=4, has_bias=False, **IDENTITY, **same),
        Subsampling(kernel_size=(1, 2), stride=(1, 2)),
        Output(n_out=2),
        updater=SGD,
        **options,
    )


NETWORKS = {
    "residual block": residual,
    "pooled": pooled,
    "dense": dense_rows,
    "convolution": convolution,
    "series": series,
}
every_network = pytest.mark.parametrize("name", NETWORKS)


def batch_for(rng, name, n=6):
    if name == "series":
        mask = np.array([[1, 1, 1, 1, 0], [1, 1, 0, 0, 0]] * (n // 2))
        labels = np.moveaxis(np.eye(2)[rng.integers(0, 2, (n, 5))], -1, 1)
        return DataSet(rng.standard_normal((n, 3, 5)), labels, mask, mask)
    shape = (n, 4) if name == "dense" else (n, 2, 5, 4)
    return DataSet(rng.standard_normal(shape), np.eye(2)[rng.integers(0, 2, n)])


@both_backends
@both_types
@every_network
def test_gradients_are_those_of_a_network_without(
    rng, monkeypatch, unfused, name, dtype, backend
):
    monkeypatch.setenv("DASKDL_BACKEND_PRIORITY_CPU", backend)
    network = NETWORKS[name](dtype=dtype)
    plain, batch = unfused(network), batch_for(rng, name)
    close(network.compute_gradients(batch), plain.compute_gradients(batch), dtype)
    close(network.gradients, plain.gradients, dtype)


@both_types
@every_network
def test_training_goes_as_in_a_network_without(rng, unfused, name, dtype):
    network = NETWORKS[name](dtype=dtype)
    plain = unfused(network)
    # The last minibatch is short.
    batches = [batch_for(rng, name, n) for n in (6, 6, 6, 4)]
    network.fit(batches)
    plain.fit(batches)
    close(network.params, plain.params, dtype)


@both_backends
@both_types
@every_network
def test_predictions_are_those_of_a_network_without(
    rng, monkeypatch, unfused, name, dtype, backend
):
    monkeypatch.setenv("DASKDL_BACKEND_PRIORITY_CPU", backend)
    network, batch = NETWORKS[name](dtype=dtype), batch_for(rng, name)
    network.fit(batch)
    plain = unfused(network)
    asked = {"features_mask": batch.features_mask}
    actual = network.output(batch.features, **asked)
    close(actual, plain.output(batch.features, **asked), dtype)


@every_network
def test_the_gradient_is_that_of_the_score(rng, name):
    network, batch = NETWORKS[name](dtype="float64"), batch_for(rng, name, 4)
    # Away from the kinks, where a number would be 0.
    network.params[...] += rng.standard_normal(network.n_params) / 10

    def loss_and_grad(params):
        network.params[...] = params
        loss = network.compute_gradients(batch)
        for slot in network.running_slots:
            # Not a gradient but the update of a running statistic.
            network.gradients[slot.offset : slot.stop] = 0
        return loss, network.gradients

    check_gradient(loss_and_grad, network.params.copy())


@every_network
def test_rectifiers_and_poolings_are_left_to_what_is_in_front(name):
    network = NETWORKS[name]()
    left = [
        node.name
        for node in network.nodes
        if isinstance(node.conf, (Activation, Subsampling))
    ]
    assert handed_through(network) == left


def test_but_not_where_their_input_is_dropped():
    dropped = {"dropout": {"type": "gaussian_dropout", "rate": 0.2}}
    network = sequence(
        Convolutional(height=5, width=4, channels=2),
        Convolution2D(n_out=3, kernel_size=2, **IDENTITY),
        Activation(activation="relu", **dropped),
        Subsampling(**dropped),
        Output(n_out=2),
    )
    assert handed_through(network) == []


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_is_not_a_number_stays_to_be_seen(rng, unfused, value):
    network = residual()
    plain, batch = unfused(network), batch_for(rng, "residual block")
    batch.features[1, 0, 2, 2] = value
    network.compute_gradients(batch)
    plain.compute_gradients(batch)
    np.testing.assert_array_equal(
        np.isnan(network.gradients), np.isnan(plain.gradients)
    )


def test_a_copy_is_joined_too():
    assert handed_through(residual().clone()) == ["stem", "block"]


@every_network
def test_configuration_and_summary_know_nothing_of_it(unfused, name):
    network = NETWORKS[name]()
    plain = unfused(network)
    assert network.summary() == plain.summary()
    assert network.conf == plain.conf


def test_a_step_allocates_nothing_of_the_size_of_activations(rng):
    network = residual()
    # Many: what lives on of a pass besides has the same few kilobytes for any number.
    n = 600
    batch = batch_for(rng, "residual block", n)
    network.fit(batch)
    sizes = [math.prod(run.output_type.shape) for run in network._program.runs]
    largest = n * max(sizes) * network.dtype.itemsize
    entered = network._converter.features(network._checked(batch))
    labels = network._converter.labels(network._checked(batch))

    def iterate():
        network._program.forward(*entered, training=True, rng=None)
        network._program.backward(*labels)

    assert peak_bytes(iterate) < largest / 4
