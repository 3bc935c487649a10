"""The updaters on a CUDA device: all that is done to a number in one launch."""

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

from daskdl.arrays.namespace import FloatArray
from daskdl.kernels.cuda.source import THREADS, CudaKernel, blocks_for

_FOLLOW = "m = beta1 * m + (1 - beta1) * g;\n"
_FOLLOW_SQUARES = "v = beta2 * v + (1 - beta2) * g * g;\n"
_BETAS = ("beta1", "beta2", "rate")


class Source(NamedTuple):
    """How an updater reads in C, ``g`` being the gradient and then the update.

    Parameters
    ----------
    states, numbers : tuple of str
        What it calls them, in the order of the rule.
    body : str
        Statements.
    """

    states: tuple[str, ...]
    numbers: tuple[str, ...]
    body: str


SOURCES = {
    "noop": Source((), (), ""),
    "sgd": Source((), ("rate",), "g *= rate;"),
    "nesterovs": Source(
        ("v",),
        ("rate", "mu"),
        "real slowed = mu * v; v = slowed - rate * g; g = slowed - (mu + 1) * v;",
    ),
    "adam": Source(
        ("m", "v"),
        (*_BETAS, "epsilon"),
        _FOLLOW + _FOLLOW_SQUARES + "g = rate * m / (sqrt(v) + epsilon);",
    ),
    "amsgrad": Source(
        ("m", "v", "largest"),
        (*_BETAS, "epsilon"),
        _FOLLOW
        + _FOLLOW_SQUARES
        # As NumPy's maximum, which keeps what is no number.
        + "largest = largest > v || largest != largest ? largest : v;\n"
        + "g = rate * m / (sqrt(largest) + epsilon);",
    ),
    "nadam": Source(
        ("m", "v"),
        (*_BETAS, "correction", "epsilon"),
        _FOLLOW
        + _FOLLOW_SQUARES
        + "g = (beta1 * m + (1 - beta1) * g) / correction * rate;\n"
        + "g /= sqrt(v) + epsilon;",
    ),
    "adamax": Source(
        ("m", "s"),
        (*_BETAS, "floor"),
        _FOLLOW
        + "real size = fabs(g); s *= beta2;\n"
        + "s = (s > size || s != s ? s : size) + floor; g = m * rate / s;",
    ),
    "adabelief": Source(
        ("m", "s"),
        (*_BETAS, "epsilon"),
        _FOLLOW
        + "g -= m; s = beta2 * s + (1 - beta2) * g * g + epsilon;\n"
        + "g = rate * m / (sqrt(s) + epsilon);",
    ),
    "adagrad": Source(
        ("h",), ("rate", "epsilon"), "h += g * g; g = g * rate / (sqrt(h) + epsilon);"
    ),
    "rmsprop": Source(
        ("s",),
        ("decay", "rate", "epsilon"),
        "s = decay * s + (1 - decay) * g * g; g = g * rate / (sqrt(s) + epsilon);",
    ),
    "adadelta": Source(
        ("s", "d"),
        ("rho", "epsilon"),
        "s = rho * s + (1 - rho) * g * g;\n"
        "g = g / sqrt(s + epsilon) * sqrt(d + epsilon);\n"
        "d = rho * d + (1 - rho) * g * g;",
    ),
}
"""The updaters by name; their arithmetic is that of :mod:`.rules`."""


def update(
    name: str,
    gradient: FloatArray,
    states: Sequence[FloatArray],
    numbers: Sequence[Any],
    *,
    divisor: int,
    params: FloatArray | None,
) -> None:
    """Turn a gradient into an update; see :func:`daskdl.kernels.updater.update`.

    Parameters
    ----------
    name : str
        Of the rule.
    gradient, params : ndarray of CuPy of shape (n,)
        C-contiguous, of one dtype. Without `params` nothing is subtracted.
    states : sequence of ndarray of shape (n,), same dtype
        Of the rule.
    numbers : sequence of numpy floats
        Of the rule, in that dtype.
    divisor : int
        What the gradient is divided by.
    """
    n, by = gradient.size, gradient.dtype.type(divisor)
    kernel = _kernel(name)
    kernel(blocks_for(n), THREADS, gradient, *states, *numbers, by, params, n)


@functools.cache
def _kernel(name: str) -> CudaKernel:
    source = SOURCES[name]
    states = "".join(f"real* p_{state}, " for state in source.states)
    numbers = "".join(f"real {number}, " for number in source.numbers)
    reads = "".join(f"real {state} = p_{state}[i]; " for state in source.states)
    writes = "".join(f"p_{state}[i] = {state}; " for state in source.states)
    return CudaKernel(
        f"update_{name}",
        f"""
extern "C" __global__ void update_{name}(
    real* gradient, {states}{numbers}real divisor, real* params, int n)
{{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    real g = gradient[i] / divisor;
    {reads}
    {source.body}
    {writes}
    gradient[i] = g;
    if (params) params[i] -= g;
}}
""",
    )
