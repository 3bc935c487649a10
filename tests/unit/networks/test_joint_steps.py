"""A step in one pass is gradient, update and subtraction one after the other."""

import numpy as np
import pytest

from daskdl import BatchNormalization, DataSet, Dense, Frozen, Output
from daskdl.nn.conf.input_type import Convolutional, FeedForward
from daskdl.nn.conf.regularization import WeightDecay
from daskdl.nn.layers.depthwise import SeparableConvolution2D
from tests.memory import peak_bytes
from tests.unit.networks.small import sequence

DECAY = WeightDecay(coefficient=0.1, apply_learning_rate=True)
NETWORKS = {
    "plain": {},
    "sums": {"mini_batch": False},
    "l1 and l2": {"l1": 0.01, "l2": 0.2, "l2_bias": 0.1},
    "weight decay": {"weight_decay": DECAY},
    "both": {"l2": 0.2, "weight_decay": DECAY, "weight_decay_bias": 0.3},
    "biases apart": {"bias_updater": "sgd"},
    "clipped": {
        "gradient_normalization": "clip_l2_per_layer",
        "gradient_normalization_threshold": 0.1,
    },
    "without an updater": {"updater": "noop"},
}


def labels(rng):
    return np.eye(3)[rng.integers(0, 3, 6)]


def rows(rng, **options):
    layers = [
        Dense(n_out=40, updater="nesterovs", l1=0.0),
        BatchNormalization(),
        Frozen(layer=Dense(n_out=30)),
        Dense(n_out=500),
        Output(n_out=3),
    ]
    network = sequence(FeedForward(size=4), *layers, **{"updater": "adam", **options})
    return network, DataSet(rng.standard_normal((6, 4)), labels(rng))


def images(rng, **options):
    """Return a network whose penalties meet the wrong parameters, as DL4J's do."""
    convolution = SeparableConvolution2D(n_out=3, kernel_size=(2, 2))
    network = sequence(
        Convolutional(height=4, width=4, channels=2),
        convolution,
        Output(n_out=3),
        **{"updater": "adam", **options},
    )
    return network, DataSet(rng.standard_normal((6, 2, 4, 4)), labels(rng))


def step_by_step(network, batch):
    network.compute_gradients(batch)
    network.apply_update(network.compute_update())
    network.finish_iteration()


@pytest.mark.parametrize("kernels", ["numba", "numpy"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("options", NETWORKS.values(), ids=NETWORKS.keys())
@pytest.mark.parametrize("build", [rows, images])
def test_both_ways_change_the_same_bits(
    rng, monkeypatch, build, options, dtype, kernels
):
    monkeypatch.setenv("DASKDL_BACKEND_PRIORITY_CPU", kernels)
    joint, batch = build(rng, dtype=dtype, **options)
    other = joint.clone()
    for _ in range(3):
        joint.fit_minibatch(batch)
        step_by_step(other, batch)
    np.testing.assert_array_equal(joint.params, other.params)
    np.testing.assert_array_equal(joint.gradients, other.gradients)
    np.testing.assert_array_equal(joint.updater_state, other.updater_state)


def test_a_step_of_learning_allocates_no_vector(rng):
    network, _ = rows(rng, l2=0.1)
    plan, vector = network.plan, np.zeros(network.n_params, network.dtype)

    def iterate():
        plan.step(
            network.gradients,
            network.params,
            network.updater_state,
            n_examples=3,
            iteration=0,
            workspace=network.workspace,
        )

    assert peak_bytes(iterate) < vector.nbytes / 2
