"""A convolution of images and the maximum of its windows, as one.

What is between the two, often the largest array of a network, is never kept: compiled
code has that of one image only, NumPy that of all images in scratch.
"""

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.arrays.workspace import Workspace
from daskdl.kernels.conv import convolution_backward, convolution_forward
from daskdl.kernels.dispatch import are_rows_on_device
from daskdl.kernels.pooled_conv import cpu
from daskdl.kernels.pooled_conv.windows import PooledWindows
from daskdl.kernels.pooling import gpu, max_pool_backward, max_pool_forward
from daskdl.kernels.window import Window


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
    if cpu.takes(x, weight, out):
        cpu.forward(x, weight, bias, windows, workspace, out, winner)
        return out
    xp = array_namespace(x)
    convolved = _convolved(x, weight, windows.window, workspace)
    convolution_forward(x, weight, bias, windows.window, workspace, out=convolved)
    if gpu.takes(convolved, out, windows.pool, winner):
        gpu.max_pool_forward(
            convolved, windows.pool, out, winner, rectifies=windows.rectifies
        )
        return out
    number = workspace.take("pooled_conv.winner", out.shape, xp.uint32)
    max_pool_forward(convolved, windows.pool, workspace, out=out, winner=number)
    xp.copyto(winner, number)
    if windows.rectifies:
        xp.maximum(out, 0, out=out)
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
    if cpu.takes(x, weight, grad_out, output, grad_weight):
        forward_pass = (x, weight, windows, workspace, output, winner)
        cpu.backward(grad_out, *forward_pass, grad_weight, grad_bias, grad_x)
        return grad_x
    convolved = _convolved(x, weight, windows.window, workspace)
    _pool_backward(grad_out, output, winner, windows, workspace, convolved)
    convolution_backward(
        convolved,
        x,
        weight,
        windows.window,
        workspace,
        grad_weight=grad_weight,
        grad_bias=grad_bias,
        grad_x=grad_x,
    )
    return grad_x


def _pool_backward(
    grad_out: FloatArray,
    output: FloatArray,
    winner: FloatArray,
    windows: PooledWindows,
    workspace: Workspace,
    convolved: FloatArray,
) -> None:
    """Overwrite `convolved` with the gradient of what the maxima are of."""
    pool, rectifies = windows.pool, windows.rectifies
    if gpu.takes(grad_out, convolved, pool, winner) and are_rows_on_device(output):
        rectified = output if rectifies else None
        gpu.max_pool_backward(grad_out, winner, pool, convolved, rectified=rectified)
        return
    xp = array_namespace(output)
    grad = workspace.take("pooled_conv.grad", output.shape, output.dtype)
    xp.copyto(grad, grad_out)
    if rectifies:
        xp.multiply(grad, output > 0, out=grad)
    number = workspace.take("pooled_conv.winner", output.shape, xp.uint32)
    xp.copyto(number, winner, casting="unsafe")
    max_pool_backward(grad, number, pool, workspace, grad_x=convolved)


def _convolved(
    x: FloatArray, weight: FloatArray, window: Window, workspace: Workspace
) -> FloatArray:
    shape = (x.shape[0], *window.out, weight.shape[-1])
    convolved: FloatArray = workspace.take("pooled_conv.convolved", shape, x.dtype)
    return convolved
