"""The rectifier whose slope below 0 is learned."""

import math

import numpy as np

from daskdl.arrays.namespace import FloatArray
from daskdl.arrays.workspace import Workspace
from daskdl.kernels.dispatch import is_compiled_for
from daskdl.kernels.prelu import cpu, reference

# Numbers of a strip, at least: entering a loop costs little beside 64 vectors of 8.
_STRIP = 512


def prelu_forward(
    x: FloatArray, slope: FloatArray, workspace: Workspace, *, out: FloatArray
) -> FloatArray:
    """Compute ``out = x`` where ``x >= 0``, else ``slope * x``.

    Parameters
    ----------
    x : ndarray of shape (batch, ...), float
        Not changed.
    slope : ndarray of shape (...), same dtype
        As many axes as an example; those of length 1 share a slope.
    workspace : Workspace
        Lends scratch of the size of an example, or less.
    out : ndarray like x
        Overwritten.

    Returns
    -------
    out : ndarray
        The array that was given.

    References
    ----------
    He et al., *Delving Deep into Rectifiers*, 2015, equation 1.
    """
    if not is_compiled_for(x, slope, out):
        return reference.prelu_forward(x, slope, out)
    strip = _strip(slope, x.shape, workspace)
    cpu.prelu_forward(x.reshape(-1), strip.reshape(-1), out.reshape(-1))
    return out


def prelu_backward(
    grad_out: FloatArray,
    x: FloatArray,
    slope: FloatArray,
    workspace: Workspace,
    *,
    grad_slope: FloatArray,
    grad_x: FloatArray,
) -> FloatArray:
    """Compute the gradients of :func:`prelu_forward`; at 0 it is that of ``x >= 0``.

    Parameters
    ----------
    grad_out : ndarray like x
        Gradient of the loss in the output. Not changed.
    x, slope, workspace
        As in the forward pass.
    grad_slope : ndarray like slope
        Overwritten with the sum over the batch and the axes that share a slope.
    grad_x : ndarray like x
        Overwritten.

    Returns
    -------
    grad_x : ndarray
        The array that was given.
    """
    if not is_compiled_for(grad_out, x, slope, grad_slope, grad_x):
        return reference.prelu_backward(grad_out, x, slope, grad_slope, grad_x)
    strip = _strip(slope, x.shape, workspace)
    some = workspace.take("prelu.some", (strip.size,), x.dtype)
    total = workspace.take("prelu.total", strip.shape, np.float64)
    cpu.prelu_backward(
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
    return grad_x


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
