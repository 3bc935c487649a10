"""The rectifier whose slope below 0 is learned."""

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.arrays.workspace import Workspace
from daskdl.kernels.dispatch import is_compiled_for
from daskdl.kernels.prelu import cpu


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
    if is_compiled_for(x, slope, out):
        cpu.prelu_forward(x, slope, workspace, out)
        return out
    xp = array_namespace(x)
    xp.multiply(x, slope, out=out)
    xp.copyto(out, x, where=x >= 0)
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
    if is_compiled_for(grad_out, x, slope, grad_slope, grad_x):
        cpu.prelu_backward(grad_out, x, slope, workspace, grad_slope, grad_x)
        return grad_x
    xp = array_namespace(x)
    is_passed = x >= 0
    xp.multiply(grad_out, x, out=grad_x)
    xp.copyto(grad_x, 0, where=is_passed)
    sums = xp.sum(grad_x, axis=0)
    shared = tuple(axis for axis, n in enumerate(slope.shape) if n == 1)
    grad_slope[...] = xp.sum(sums, axis=shared, keepdims=True) if shared else sums
    xp.multiply(grad_out, slope, out=grad_x)
    xp.copyto(grad_x, grad_out, where=is_passed)
    return grad_x
