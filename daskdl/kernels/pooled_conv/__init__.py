"""A convolution of images and the maximum of its windows, as one.

What is between the two, often the largest array of a network, is never kept.
"""

from daskdl.arrays.namespace import FloatArray
from daskdl.arrays.workspace import Workspace
from daskdl.kernels.pooled_conv import cpu, in_turn
from daskdl.kernels.pooled_conv.windows import PooledWindows


def pooled_convolution_forward(
    x: FloatArray,
    weight: FloatArray,
    bias: FloatArray | None,
    windows: PooledWindows,
    workspace: Workspace,
    *,
    out: FloatArray,
    winner: FloatArray,
) -> FloatArray:
    """Compute the maxima of a convolution.

    Parameters
    ----------
    x : ndarray of shape (batch, height, width, n_in)
        Not changed.
    weight : ndarray of shape (*kernel, n_in, n_out), same dtype
        C-contiguous. Not changed.
    bias : ndarray of shape (n_out,), same dtype, or None
        None adds nothing.
    windows : PooledWindows
        Of both.
    workspace : Workspace
        Lends scratch.
    out : ndarray of shape (batch, *pool.out, n_out), same dtype
        C-contiguous. Overwritten.
    winner : ndarray like out
        Overwritten with the cell of the pooling window that holds the maximum, counted
        row by row; the first one of equals.

    Returns
    -------
    out : ndarray
        The array that was given.
    """
    forward = in_turn.forward
    if cpu.takes(x, weight, out):
        forward = cpu.forward
    forward(x, weight, bias, windows, workspace, out, winner)
    return out


def pooled_convolution_backward(
    grad_out: FloatArray,
    x: FloatArray,
    weight: FloatArray,
    windows: PooledWindows,
    workspace: Workspace,
    *,
    output: FloatArray,
    winner: FloatArray,
    grad_weight: FloatArray,
    grad_bias: FloatArray | None,
    grad_x: FloatArray | None,
) -> FloatArray | None:
    """Compute the gradients of :func:`pooled_convolution_forward`.

    Parameters
    ----------
    grad_out : ndarray of shape (batch, *pool.out, n_out)
        Gradient of the loss in the output. C-contiguous. Not changed.
    x, weight, windows, workspace
        As in the forward pass.
    output, winner : ndarray like grad_out
        What the forward pass wrote. Not changed.
    grad_weight : ndarray like weight
        C-contiguous. Overwritten with the sum over images and windows.
    grad_bias : ndarray of shape (n_out,), same dtype, or None
        Overwritten likewise.
    grad_x : ndarray like x, or None
        Overwritten. None where nobody reads it: then it is not computed.

    Returns
    -------
    grad_x : ndarray or None
        What was given.
    """
    backward = in_turn.backward
    if cpu.takes(x, weight, grad_out, output, grad_weight):
        backward = cpu.backward
    forward_pass = (x, weight, windows, workspace, output, winner)
    backward(grad_out, *forward_pass, grad_weight, grad_bias, grad_x)
    return grad_x
