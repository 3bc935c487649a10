"""The rectifier with a learned slope compiled for the CPU: one pass over memory.

Slopes come repeated to a strip, as long as an example or as what has one slope after
the other, whichever is shorter::

    for block of _STRIPS strips:
        for strip, for i over the strip: output, or gradients and sums
        for i over the strip: join the sums with those before, in float64
"""

# mypy: disable-error-code="no-untyped-def"

import math

import numpy as np

from daskdl.arrays.namespace import FloatArray
from daskdl.arrays.workspace import Workspace
from daskdl.kernels.jit import jit

# Numbers of a strip, at least: entering a loop costs little beside 64 vectors of 8.
_STRIP = 512
# So few numbers lose nothing to speak of when they are added in float32.
_STRIPS = 64


def prelu_forward(
    x: FloatArray, slope: FloatArray, workspace: Workspace, out: FloatArray
) -> None:
    """Write `x` where it is at least 0, else its slope times it."""
    strip = _strip(slope, x.shape, workspace)
    _forward(x.reshape(-1), strip.reshape(-1), out.reshape(-1))


def prelu_backward(
    grad_out: FloatArray,
    x: FloatArray,
    slope: FloatArray,
    workspace: Workspace,
    grad_slope: FloatArray,
    grad_x: FloatArray,
) -> None:
    """Write the gradients in `x` and in the slopes."""
    strip = _strip(slope, x.shape, workspace)
    some = workspace.take("prelu.some", (strip.size,), x.dtype)
    total = workspace.take("prelu.total", strip.shape, np.float64)
    _backward(
        *(array.reshape(-1) for array in (grad_out, x, strip)),
        some,
        total.reshape(-1),
        grad_x.reshape(-1),
    )
    # Without the first axes along which all is shared.
    of_slope = slope.shape[slope.ndim - (strip.ndim - 1) :]
    shared = [axis for axis, n in enumerate(of_slope, start=1) if n == 1]
    sums = grad_slope.reshape((1, *of_slope))
    total.sum(axis=(0, *shared), keepdims=True, out=sums)


def _strip(
    slope: FloatArray, shape: tuple[int, ...], workspace: Workspace
) -> FloatArray:
    """Return the slopes repeated along shared axes, and several times if they are few.

    Returns
    -------
    strip : ndarray of shape (repeats, ...)
        Behind the repeats come the axes of an example, without the first ones along
        which all is shared: the strip is the same wherever it begins.
    """
    first = next((axis for axis, n in enumerate(slope.shape) if n > 1), slope.ndim)
    axes = shape[first + 1 :]
    n = math.prod(axes)
    # Not more than there are; none are many enough where there is nothing at all.
    repeats = max(1, min(_STRIP // max(n, 1), math.prod(shape[: first + 1])))
    strip: FloatArray = workspace.take("prelu.strip", (repeats, *axes), slope.dtype)
    strip[...] = slope.reshape(slope.shape[first:])
    return strip


@jit
def _forward(x, slopes, out):
    """Write `x` where it is at least 0, else `slopes` times it. `x` is flat."""
    zero, width = x.dtype.type(0), slopes.size
    for start in range(0, x.size, width):
        value, result = x[start : start + width], out[start : start + width]
        for i in range(value.size):
            number = value[i]
            below = number * slopes[i]
            result[i] = number if number >= zero else below


@jit
def _backward(grad_out, x, slopes, some, total, grad_x):
    """Write the gradient in `x`, and to `total` the sums of that in the slopes.

    `some` is scratch like `slopes`; `total` is as long and float64.
    """
    zero, width = x.dtype.type(0), slopes.size
    for i in range(width):
        some[i] = zero
        total[i] = 0.0
    for block in range(0, x.size, width * _STRIPS):
        for start in range(block, min(block + width * _STRIPS, x.size), width):
            value, grad = x[start : start + width], grad_out[start : start + width]
            result = grad_x[start : start + width]
            for i in range(value.size):
                number, share = value[i], grad[i]
                along, below = share * number, share * slopes[i]
                some[i] += zero if number >= zero else along
                result[i] = share if number >= zero else below
        for i in range(width):
            total[i] += some[i]
            some[i] = zero
