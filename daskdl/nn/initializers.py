"""Initial weights, drawn on the host in float64 so that every device starts alike."""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from daskdl.errors import OptionError

Weights = NDArray[np.float64]
_Scale = Callable[[float, float], float]

# Standard deviation of a normal distribution, by the fans (DL4J's WeightInit* classes).
_NORMAL: dict[str, _Scale] = {
    "xavier": lambda fan_in, fan_out: math.sqrt(2 / (fan_in + fan_out)),
    "xavier_fan_in": lambda fan_in, fan_out: math.sqrt(1 / fan_in),
    "relu": lambda fan_in, fan_out: math.sqrt(2 / fan_in),
    "lecun_normal": lambda fan_in, fan_out: math.sqrt(1 / fan_in),
    "normal": lambda fan_in, fan_out: math.sqrt(1 / fan_in),
}
# Bound a of a uniform distribution on (-a, a).
_UNIFORM: dict[str, _Scale] = {
    "xavier_uniform": lambda fan_in, fan_out: math.sqrt(6 / (fan_in + fan_out)),
    "relu_uniform": lambda fan_in, fan_out: math.sqrt(6 / fan_in),
    # DL4J's bound; the paper's is sqrt(3 / fan_in).
    "lecun_uniform": lambda fan_in, fan_out: 3 / math.sqrt(fan_in),
    "uniform": lambda fan_in, fan_out: 1 / math.sqrt(fan_in),
    "sigmoid_uniform": lambda fan_in, fan_out: 4 * math.sqrt(6 / (fan_in + fan_out)),
}


def initialize(
    scheme: str,
    shape: tuple[int, ...],
    fan_in: float,
    fan_out: float,
    rng: np.random.Generator,
) -> Weights:
    """Return fresh weights.

    Parameters
    ----------
    scheme : str
        A name of DL4J's WeightInit, lower case.
    shape : tuple of int
        Of the weights.
    fan_in, fan_out : float
        How many numbers go into, and come out of, one unit. For a convolution with
        stride DL4J divides `fan_out` by the stride, so it may be a fraction.
    rng : numpy.random.Generator
        The layer's own stream.

    Returns
    -------
    ndarray of `shape`, float64
        The same for the same arguments and stream.

    Raises
    ------
    OptionError
        If ``identity`` is asked for weights that are not square.

    References
    ----------
    DL4J, ``org.deeplearning4j.nn.weights.WeightInit*``.
    """
    if scheme in _NORMAL:
        deviation = _NORMAL[scheme](fan_in, fan_out)
        return rng.standard_normal(shape) * deviation
    if scheme in _UNIFORM:
        bound = _UNIFORM[scheme](fan_in, fan_out)
        return rng.uniform(-bound, bound, shape)
    if scheme == "xavier_legacy":
        return rng.standard_normal(shape) / math.sqrt(shape[0] + shape[-1])
    if scheme == "identity":
        return _identity(shape)
    return np.full(shape, 1.0 if scheme == "ones" else 0.0)


def _identity(shape: tuple[int, ...]) -> Weights:
    """Return the identity matrix, or the kernel that passes its middle on."""
    *window, n_in, n_out = shape
    if n_in != n_out or any(length % 2 == 0 for length in window):
        raise OptionError(
            "weight_init: 'identity' must have as many outputs as inputs and odd "
            f"kernels, got weights of shape {shape}."
        )
    weights = np.zeros(shape)
    weights[tuple(length // 2 for length in window)] = np.eye(n_in)
    return weights
