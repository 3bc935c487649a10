"""A convolution of images and the maximum of its windows, as one.

What is between the two, often the largest array of a network, is never kept.
"""

from daskdl.arrays.namespace import FloatArray
from daskdl.arrays.workspace import Workspace
from daskdl.kernels.pooled_conv import cpu, in_turn
from daskdl.kernels.window import Window


def pooled_convolution_forward(
    x: FloatArray,
    weight: FloatArray,
    bias: FloatArray | None,
    window: Window,
    pool: Window,
    workspace: Workspace,
    *,
    rectifies: bool,
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
    window : Window
        Of the convolution.
    pool : Window
        Slides over the places of `window`, without padding, dilation and overlap.
    workspace : Workspace
        Lends scratch.
    rectifies : bool
        Whether places below 0 count as 0.
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
    forward(x, weight, bias, window, pool, workspace, rectifies, out, winner)
    return out


def pooled_convolution_backward(
    grad_out: FloatArray,
    x: FloatArray,
    weight: FloatArray,
    window: Window,
    pool: Window,
    workspace: Workspace,
    *,
    rectifies: bool,
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
    x, weight, window, pool, workspace, rectifies
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
    backward(
        grad_out,
        x,
        weight,
        window,
        pool,
        workspace,
        rectifies,
        output,
        winner,
        grad_weight,
        grad_bias,
        grad_x,
    )
    return grad_x
