"""Normalizations that are left to the weights of a convolution, in inference."""

import numpy as np
import pytest

from daskdl import (
    BatchNormalization,
    Convolution2D,
    DataSet,
    Dense,
    Output,
    Subsampling,
)
from daskdl.errors import ShapeError
from daskdl.nn.conf.input_type import Convolutional
from tests.unit.networks.fusion_cases import (
    IDENTITY,
    RELU,
    SGD,
    both_backends,
    both_types,
    close,
)
from tests.unit.networks.small import sequence


def normalized(*layers, **options):
    """Return a network whose running statistics are not those it began with."""
    network = sequence(
        Convolutional(height=5, width=4, channels=2),
        *layers,
        Output(n_out=2),
        updater=SGD,
        **options,
    )
    rng = np.random.default_rng(7)
    for slot in network.running_slots:
        part = network.params[slot.offset : slot.stop]
        part += rng.uniform(0, 0.5, part.shape)
    return network


NORMALIZED = {
    "a bias": [Convolution2D(n_out=3, kernel_size=2, bias_init=0.3, **IDENTITY)],
    "no bias": [Convolution2D(n_out=3, kernel_size=2, has_bias=False, **IDENTITY)],
    "padding": [Convolution2D(n_out=3, convolution_mode="same", **IDENTITY)],
    "a rectifier in between": [
        Convolution2D(n_out=3, kernel_size=2, activation="relu")
    ],
    "a pooling in between": [
        Convolution2D(n_out=3, kernel_size=2, **IDENTITY),
        Subsampling(),
    ],
    "a dense layer": [Dense(n_out=3, **IDENTITY)],
}
NORMS = {
    "plain": [BatchNormalization(beta=0.2, gamma=0.7)],
    "rectified": [BatchNormalization(beta=0.2), RELU],
    "locked": [BatchNormalization(lock_gamma_beta=True, gamma=0.7, beta=0.2)],
    "variance": [BatchNormalization(use_log_std=False, eps=0.1)],
}


@both_backends
@both_types
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("front", NORMALIZED)
def test_weights_take_the_factors_of_a_normalization(
    rng, monkeypatch, unfused, front, norm, dtype, backend
):
    monkeypatch.setenv("DASKDL_BACKEND_PRIORITY_CPU", backend)
    network = normalized(*NORMALIZED[front], *NORMS[norm], dtype=dtype)
    plain, x = unfused(network), rng.standard_normal((3, 2, 5, 4))
    close(network.output(x), plain.output(x), dtype)


def test_factors_are_those_of_the_parameters_of_now(rng, unfused):
    network = normalized(*NORMALIZED["a bias"], *NORMS["plain"], dtype="float64")
    x = rng.standard_normal((3, 2, 5, 4))
    before = network.output(x)
    network.fit(DataSet(x, np.eye(2)[[0, 1, 1]]))
    assert np.abs(network.output(x) - before).max() > 1e-3
    close(network.output(x), unfused(network).output(x), "float64")


def test_a_convolution_that_normalized_sends_no_gradient(rng):
    network = normalized(*NORMALIZED["a bias"], *NORMS["plain"])
    convolution = network._program.parts[0][1]
    convolution.forward(rng.standard_normal((3, 5, 4, 2)), training=False)
    with pytest.raises(ShapeError, match="Convolution2D: backward must follow forward"):
        convolution.backward(np.ones((3, 4, 3, 3)))
