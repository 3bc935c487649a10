"""Convolution over any number of axes (cross-correlation: no kernel is flipped)."""

from daskdl.arrays.namespace import FloatArray
from daskdl.arrays.workspace import Workspace
from daskdl.kernels.conv import reference
from daskdl.kernels.window import Window


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
    return reference.convolution_forward(
        x, weight, bias, window, workspace, rectifies, out
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
    return reference.convolution_backward(
        grad_out, x, weight, window, workspace, grad_weight, grad_bias, grad_x
    )
