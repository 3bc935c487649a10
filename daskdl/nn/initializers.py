"""Initial weights, drawn on the host in float64 so that every device starts alike.

The same stream of random numbers gives the same weights.
"""

import io
import math
from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from daskdl.arrays.namespace import FloatArray, to_device
from daskdl.class_files import class_file
from daskdl.data.files import open_input
from daskdl.dialects import Quirks
from daskdl.errors import CorruptFileError, OptionError, ShapeError
from daskdl.nn.conf.weight_inits import (
    ConstantInit,
    DistributionInit,
    EmbeddingInit,
    IdentityInit,
    WeightInitDefinition,
    WeightInitLiteral,
    WeightInitOptions,
)
from daskdl.nn.distributions import TRUNCATED, Sample, sample, truncated_normal

_Fans: TypeAlias = Callable[[float, float], float]

# What a file of NumPy's begins with.
_NUMPY = b"\x93NUMPY"

# Standard deviation of a normal distribution, by the fans.
_NORMAL: dict[str, _Fans] = {
    "xavier": lambda fan_in, fan_out: math.sqrt(2 / (fan_in + fan_out)),
    "xavier_fan_in": lambda fan_in, fan_out: math.sqrt(1 / fan_in),
    "relu": lambda fan_in, fan_out: math.sqrt(2 / fan_in),
    "lecun_normal": lambda fan_in, fan_out: math.sqrt(1 / fan_in),
    "normal": lambda fan_in, fan_out: math.sqrt(1 / fan_in),
}
# Bound a of a uniform distribution on (-a, a).
_UNIFORM: dict[str, _Fans] = {
    "xavier_uniform": lambda fan_in, fan_out: math.sqrt(6 / (fan_in + fan_out)),
    "relu_uniform": lambda fan_in, fan_out: math.sqrt(6 / fan_in),
    "uniform": lambda fan_in, fan_out: 1 / math.sqrt(fan_in),
    "sigmoid_uniform": lambda fan_in, fan_out: 4 * math.sqrt(6 / (fan_in + fan_out)),
}
# What the schemes with a scale divide by.
_FAN: dict[str, _Fans] = {
    "in": lambda fan_in, fan_out: fan_in,
    "out": lambda fan_in, fan_out: fan_out,
    "avg": lambda fan_in, fan_out: (fan_in + fan_out) / 2,
}


def draw_weights(
    scheme: WeightInitLiteral | WeightInitOptions,
    fan_in: float,
    fan_out: float,
    rng: np.random.Generator,
    *,
    out: FloatArray,
    quirks: Quirks = frozenset(),
) -> None:
    """Write fresh weights into an array, which may be on a device.

    Parameters
    ----------
    scheme, fan_in, fan_out, rng
        As for :func:`initialize`.
    out : ndarray of the shape of the weights
        Overwritten; the last two axes are inputs and outputs.
    quirks : frozenset of str
        Of the layer.
    """
    drawn = initialize(scheme, out.shape, fan_in, fan_out, rng, quirks)
    out[...] = to_device(drawn, like=out)


def initialize(
    scheme: WeightInitLiteral | WeightInitOptions,
    shape: tuple[int, ...],
    fan_in: float,
    fan_out: float,
    rng: np.random.Generator,
    quirks: Quirks = frozenset(),
) -> Sample:
    """Return fresh weights.

    Parameters
    ----------
    scheme : str or weight initializer with options
        A name of a scheme, or what has the options of one.
    shape : tuple of int
        Of the weights; the last two axes are inputs and outputs.
    fan_in, fan_out : float
        How many numbers go into, and come out of, one unit. That of a convolution
        is divided by its stride, so `fan_out` may be a fraction.
    rng : numpy.random.Generator
        The layer's own stream.
    quirks : frozenset of str
        Of the layer.

    Returns
    -------
    ndarray of `shape`, float64
        The same for the same arguments and stream.

    Raises
    ------
    OptionError
        If ``identity`` is asked for weights that are not square, or ``embedding`` for
        those of another shape than its vectors.
    ShapeError
        If initial weights of one's own are of another shape.

    References
    ----------
    DL4J, ``org.deeplearning4j.nn.weights.WeightInit*``.
    """
    if isinstance(scheme, str):
        return _by_name(scheme, shape, fan_in, fan_out, rng, quirks)
    if isinstance(scheme, DistributionInit):
        return sample(scheme.distribution, shape, rng)
    if isinstance(scheme, ConstantInit):
        return np.full(shape, scheme.value)
    if isinstance(scheme, IdentityInit):
        return _identity(shape) * _or_one(scheme.scale)
    if isinstance(scheme, EmbeddingInit):
        return _vectors(scheme, shape)
    if isinstance(scheme, WeightInitDefinition):
        return _defined(scheme, shape, fan_in, fan_out, rng)
    fan = _FAN[scheme.type.rpartition("_")[2]](fan_in, fan_out)
    return _var_scaling(scheme.type, _or_one(scheme.scale), shape, fan, rng, quirks)


def _by_name(
    name: WeightInitLiteral,
    shape: tuple[int, ...],
    fan_in: float,
    fan_out: float,
    rng: np.random.Generator,
    quirks: Quirks,
) -> Sample:
    if name in _NORMAL:
        return rng.standard_normal(shape) * _NORMAL[name](fan_in, fan_out)
    if name == "lecun_uniform":
        return _of_variance(1.0, shape, fan_in, rng, quirks)
    if name in _UNIFORM:
        bound = _UNIFORM[name](fan_in, fan_out)
        return rng.uniform(-bound, bound, shape)
    if name == "xavier_legacy":
        return rng.standard_normal(shape) / math.sqrt(sum(shape[-2:]))
    if name == "identity":
        return _identity(shape)
    if name.startswith("var_scaling"):
        fan = _FAN[name.rpartition("_")[2]](fan_in, fan_out)
        return _var_scaling(name, 1.0, shape, fan, rng, quirks)
    return np.full(shape, 1.0 if name == "ones" else 0.0)


def _var_scaling(
    name: str,
    scale: float,
    shape: tuple[int, ...],
    fan: float,
    rng: np.random.Generator,
    quirks: Quirks,
) -> Sample:
    if name.startswith("var_scaling_uniform"):
        return _of_variance(scale, shape, fan, rng, quirks)
    deviation = math.sqrt(scale / fan)
    if "var_scaling_of_bounds" not in quirks:
        # What is cut off takes a part of the variance with it.
        deviation /= TRUNCATED
    return truncated_normal(0.0, deviation, shape, rng)


def _of_variance(
    scale: float,
    shape: tuple[int, ...],
    fan: float,
    rng: np.random.Generator,
    quirks: Quirks,
) -> Sample:
    """Return uniform numbers with variance ``scale / fan``."""
    bound = math.sqrt(3 * scale / fan)
    if "var_scaling_of_bounds" in quirks:
        bound = scale * 3 / math.sqrt(fan)
    return rng.uniform(-bound, bound, shape)


def _identity(shape: tuple[int, ...]) -> Sample:
    """Return the identity matrix, or the kernel that passes its middle on."""
    if len(shape) < 2:
        raise OptionError(
            "weight_init: 'identity' must be for a matrix, got weights of shape "
            f"{shape}."
        )
    *window, n_in, n_out = shape
    if n_in != n_out or any(length % 2 == 0 for length in window):
        raise OptionError(
            "weight_init: 'identity' must have as many outputs as inputs and odd "
            f"kernels, got weights of shape {shape}."
        )
    weights = np.zeros(shape)
    weights[tuple(length // 2 for length in window)] = np.eye(n_in)
    return weights


def _vectors(scheme: EmbeddingInit, shape: tuple[int, ...]) -> Sample:
    """Return the vectors of an embedding, or refuse those of the wrong shape."""
    if scheme.path is not None:
        vectors = _read_vectors(scheme.path)
    elif scheme.weights is not None:
        vectors = np.array(scheme.weights, np.float64)
    else:
        raise OptionError(
            "weight_init: 'embedding' must have weights or a path, got none. DL4J's "
            "files do not hold the vectors of a network that has never been trained."
        )
    if vectors.shape != shape:
        raise OptionError(
            f"weight_init: 'embedding' must have vectors of shape {shape}, one for "
            f"each number that comes in, got {vectors.shape}."
        )
    return vectors


def _defined(
    scheme: WeightInitDefinition,
    shape: tuple[int, ...],
    fan_in: float,
    fan_out: float,
    rng: np.random.Generator,
) -> Sample:
    drawn = scheme.draw(shape, fan_in, fan_out, rng)
    found = getattr(drawn, "shape", type(drawn).__name__)
    if found != shape:
        raise ShapeError(
            f"{type(scheme).__name__}: draw must return an array of shape {shape}, got "
            f"{found}."
        )
    return np.asarray(drawn, np.float64)


def _read_vectors(path: str) -> Sample:
    with open_input(path) as stream:
        content = stream.read()
    if content.startswith(_NUMPY):
        try:
            array = np.load(io.BytesIO(content), allow_pickle=False)
        except (ValueError, EOFError) as error:
            raise CorruptFileError(
                f"{path}: must be an array that NumPy saved, it is damaged: {error}"
            ) from error
    else:
        array = class_file("ndarray").read(io.BytesIO(content), name=path)
    return np.asarray(array, np.float64)


def _or_one(scale: float | None) -> float:
    return 1.0 if scale is None else scale
