"""Local connections: a convolution whose every window has weights of its own."""

from daskdl.arrays.namespace import FloatArray
from daskdl.arrays.workspace import Workspace
from daskdl.kernels.locally_connected import reference
from daskdl.kernels.window import Window


def locally_connected_forward(
    x: FloatArray,
    weight: FloatArray,
    bias: FloatArray | None,
    window: Window,
    workspace: Workspace,
    *,
    out: FloatArray,
    by_column: bool = False,
) -> FloatArray:
    """Multiply every window by its own weights.

    Parameters
    ----------
    x : ndarray of shape (batch, *axes, n_in)
        Not changed.
    weight : ndarray of shape (n_windows, n_in, *kernel, n_out), same dtype
        C-contiguous. Not changed.
    bias : ndarray of shape (n_out,), same dtype, or None
        The same for all windows.
    window : Window
        Sizes of `x` and the kernel; the padding is zeros.
    workspace : Workspace
        Lends scratch: batch / n_out times the size of the weights, and twice the
        output.
    out : ndarray of shape (batch, n_windows, n_out), same dtype
        Overwritten.
    by_column : bool
        Count windows with the first axis running fastest, column by column of an image,
        instead of row by row.

    Returns
    -------
    out : ndarray
        The array that was given.
    """
    return reference.locally_connected_forward(
        x, weight, bias, window, workspace, out, by_column
    )


def locally_connected_backward(
    grad_out: FloatArray,
    x: FloatArray,
    weight: FloatArray,
    window: Window,
    workspace: Workspace,
    *,
    grad_weight: FloatArray,
    grad_bias: FloatArray | None,
    grad_x: FloatArray | None,
    by_column: bool = False,
) -> FloatArray | None:
    """Compute the gradients of :func:`locally_connected_forward`.

    Parameters
    ----------
    grad_out : ndarray like the output
        Gradient of the loss in the output. C-contiguous. Not changed.
    x, weight, window, workspace, by_column
        As in the forward pass.
    grad_weight : ndarray like weight
        C-contiguous. Overwritten with the sum over images.
    grad_bias : ndarray of shape (n_out,), same dtype, or None
        Overwritten with the sum over images and windows.
    grad_x : ndarray like x, or None
        Overwritten. None where nobody reads it: then it is not computed.

    Returns
    -------
    grad_x : ndarray or None
        What was given.
    """
    return reference.locally_connected_backward(
        grad_out,
        x,
        weight,
        window,
        workspace,
        grad_weight,
        grad_bias,
        grad_x,
        by_column,
    )
