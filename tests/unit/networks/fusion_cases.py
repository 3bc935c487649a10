"""What the tests of joined parts have in common: networks, and how far they may be."""

import numpy as np
import pytest

from daskdl import Activation

IDENTITY = {"activation": "identity"}
RELU = Activation(activation="relu")
SGD = {"type": "sgd", "learning_rate": 0.05}
# Of the largest number, after some iterations.
ROUNDING = {"float32": 1e-5, "float64": 1e-13}

both_types = pytest.mark.parametrize("dtype", ROUNDING)
both_backends = pytest.mark.parametrize("backend", ["numba", "numpy"])


def relu(source):
    return Activation(activation="relu", inputs=source)


def handed_through(network):
    """Return the names of the layers that leave their work to the part in front."""
    return [run.name for run in network._program.runs if run.fused.is_done]


def close(actual, expected, dtype):
    largest = max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(actual, expected, 0, ROUNDING[dtype] * largest)
