"""Convolution over any number of axes (cross-correlation: no kernel is flipped).

One copy into rows of windows and one matrix product. The rows are made again in the
backward pass: the copy takes a quarter of the product's time, and kept rows would have
to come back from a slower cache.
"""

from daskdl.arrays.namespace import FloatArray
from daskdl.arrays.workspace import Workspace
from daskdl.kernels.sums import sum_over_positions
from daskdl.kernels.window import Window
from daskdl.kernels.window_products import (
    outputs_to_windows,
    windows_by_outputs,
    windows_to_outputs,
)


def convolution_forward(
    x: FloatArray,
    weight: FloatArray,
    bias: FloatArray | None,
    window: Window,
    workspace: Workspace,
    *,
    rectifies: bool = False,
    out: FloatArray,
) -> FloatArray:
    """Compute the convolution of series, images or volumes with a bank of kernels.

    Parameters
    ----------
    x : ndarray of shape (batch, *axes, n_in)
        Not changed.
    weight : ndarray of shape (*kernel, n_in, n_out), same dtype
        C-contiguous. Not changed.
    bias : ndarray of shape (n_out,), same dtype, or None
        None adds nothing.
    window : Window
        Sizes of `x`, the kernel and `out`; the padding is zeros.
    workspace : Workspace
        Lends scratch of a bounded size (see :mod:`daskdl.kernels.columns`).
    rectifies : bool
        Whether what is below 0 becomes 0; NaN stays.
    out : ndarray of shape (batch, *window.out, n_out), same dtype
        C-contiguous. Overwritten.

    Returns
    -------
    out : ndarray
        The array that was given.
    """
    matrix = weight.reshape(-1, weight.shape[-1])
    return windows_to_outputs(
        x, matrix, bias, window, workspace, rectifies=rectifies, out=out
    )


def convolution_backward(
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
    """Compute the gradients of :func:`convolution_forward`.

    Parameters
    ----------
    grad_out : ndarray of shape (batch, *window.out, n_out)
        Gradient of the loss in the output. C-contiguous. Not changed.
    x, weight, window, workspace
        As in the forward pass.
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
    matrix = weight.reshape(-1, weight.shape[-1])
    grad_matrix = grad_weight.reshape(matrix.shape)
    windows_by_outputs(x, grad_out, window, workspace, out=grad_matrix)
    if grad_bias is not None:
        sum_over_positions(grad_out, workspace, out=grad_bias)
    if grad_x is None:
        return None
    return outputs_to_windows(grad_out, matrix, window, workspace, out=grad_x)
