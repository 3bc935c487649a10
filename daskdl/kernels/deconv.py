"""Deconvolution (transposed convolution) over any number of axes.

By the products that make a convolution's gradient.
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


def deconvolution_forward(
    x: FloatArray,
    weight: FloatArray,
    bias: FloatArray | None,
    window: Window,
    workspace: Workspace,
    *,
    out: FloatArray,
) -> FloatArray:
    """Compute a transposed convolution: cells times weights, summed where they lie.

    Parameters
    ----------
    x : ndarray of shape (batch, *window.out, n_in)
        C-contiguous. Not changed.
    weight : ndarray of shape (*kernel, n_out, n_in), same dtype
        C-contiguous. Not changed.
    bias : ndarray of shape (n_out,), same dtype, or None
        Added to every cell, also where no window lies.
    window : Window
        Slides over the *output*: one window for each cell of `x`.
    workspace : Workspace
        Lends scratch of a bounded size (see :mod:`daskdl.kernels.columns`).
    out : ndarray of shape (batch, *axes, n_out), same dtype
        C-contiguous. Overwritten.

    Returns
    -------
    out : ndarray
        The array that was given.

    References
    ----------
    V. Dumoulin and F. Visin, "A guide to convolution arithmetic for deep learning",
    2016, section 4.
    """
    matrix = weight.reshape(-1, weight.shape[-1])
    outputs_to_windows(x, matrix, window, workspace, out=out)
    if bias is not None:
        out += bias
    return out


def deconvolution_backward(
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
    """Compute the gradients of :func:`deconvolution_forward`.

    Parameters
    ----------
    grad_out : ndarray of shape (batch, *axes, n_out)
        Gradient of the loss in the output. C-contiguous. Not changed.
    x, weight, window, workspace
        As in the forward pass.
    grad_weight : ndarray like weight
        C-contiguous. Overwritten with the sum over images and windows.
    grad_bias : ndarray of shape (n_out,), same dtype, or None
        Overwritten likewise.
    grad_x : ndarray like x, or None
        C-contiguous. Overwritten. None where nobody reads it: then it is not computed.

    Returns
    -------
    grad_x : ndarray or None
        What was given.
    """
    matrix = weight.reshape(-1, weight.shape[-1])
    grad_matrix = grad_weight.reshape(matrix.shape)
    windows_by_outputs(grad_out, x, window, workspace, out=grad_matrix)
    if grad_bias is not None:
        sum_over_positions(grad_out, workspace, out=grad_bias)
    if grad_x is None:
        return None
    return windows_to_outputs(grad_out, matrix, None, window, workspace, out=grad_x)
