"""Depthwise convolution: each channel has kernels of its own."""

from daskdl.arrays.namespace import FloatArray
from daskdl.arrays.workspace import Workspace
from daskdl.kernels.depthwise import cpu, reference
from daskdl.kernels.tiles.usable import tiles_take
from daskdl.kernels.window import Window


def depthwise_forward(
    x: FloatArray,
    weight: FloatArray,
    bias: FloatArray | None,
    window: Window,
    workspace: Workspace,
    *,
    out: FloatArray,
) -> FloatArray:
    """Compute the convolution of every channel with each of its kernels.

    Parameters
    ----------
    x : ndarray of shape (batch, *axes, n_in)
        Not changed.
    weight : ndarray of shape (*kernel, n_in, depth_multiplier), same dtype
        C-contiguous. Not changed.
    bias : ndarray of shape (n_in * depth_multiplier,), same dtype, or None
        None adds nothing.
    window : Window
        Sizes of `x`, the kernel and `out`; the padding is zeros.
    workspace : Workspace
        Lends scratch of a bounded size, or that of a few images.
    out : ndarray of shape (batch, *window.out, n_in * depth_multiplier), same dtype
        Overwritten. Channel ``c * depth_multiplier + m`` is kernel m of channel c.

    Returns
    -------
    out : ndarray
        The array that was given.
    """
    if tiles_take(x, weight, out):
        return cpu.depthwise_forward(x, weight, bias, window, workspace, out)
    return reference.depthwise_forward(x, weight, bias, window, workspace, out)


def depthwise_backward(
    grad_out: FloatArray,
    x: FloatArray,
    weight: FloatArray,
    window: Window,
    workspace: Workspace,
    *,
    grad_weight: FloatArray,
    grad_bias: FloatArray | None,
    grad_x: FloatArray | None,
) -> FloatArray | None:
    """Compute the gradients of :func:`depthwise_forward`.

    Parameters
    ----------
    grad_out : ndarray like the output
        Gradient of the loss in the output. C-contiguous. Not changed.
    x, weight, window, workspace
        As in the forward pass.
    grad_weight : ndarray like weight
        C-contiguous. Overwritten with the sum over images and windows.
    grad_bias : ndarray of shape (n_in * depth_multiplier,), same dtype, or None
        Overwritten likewise.
    grad_x : ndarray like x, or None
        Overwritten. None where nobody reads it: then it is not computed.

    Returns
    -------
    grad_x : ndarray or None
        What was given.
    """
    read = (grad_out, x, weight, grad_weight)
    arrays = read if grad_x is None else (*read, grad_x)
    if tiles_take(*arrays):
        return cpu.depthwise_backward(
            grad_out, x, weight, window, workspace, grad_weight, grad_bias, grad_x
        )
    return reference.depthwise_backward(
        grad_out, x, weight, window, workspace, grad_weight, grad_bias, grad_x
    )
