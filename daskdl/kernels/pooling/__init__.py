"""Pooling of images: the maximum or the average of each window."""

from typing import Any

from numpy.typing import NDArray

from daskdl.arrays.namespace import FloatArray
from daskdl.arrays.workspace import Workspace
from daskdl.kernels.pooling import reference
from daskdl.kernels.window import Window


def max_pool_forward(
    x: FloatArray,
    window: Window,
    workspace: Workspace,
    *,
    out: FloatArray,
    winner: NDArray[Any],
) -> FloatArray:
    """Compute the largest value of each window.

    Parameters
    ----------
    x : ndarray of shape (batch, height, width, channels)
        Not changed.
    window : Window
        Padding counts as minus infinity: it never wins.
    workspace : Workspace
        Lends scratch of the size of `out`.
    out : ndarray of shape (batch, window rows, window columns, channels), same dtype
        Overwritten.
    winner : ndarray of unsigned integers, same shape as `out`
        Overwritten with the kernel cell that holds the maximum, counted row by row;
        the first one of equals, as in DL4J.

    Returns
    -------
    out : ndarray
        The array that was given.
    """
    return reference.max_pool_forward(x, window, workspace, out, winner)


def max_pool_backward(
    grad_out: FloatArray,
    winner: NDArray[Any],
    window: Window,
    workspace: Workspace,
    *,
    grad_x: FloatArray,
) -> FloatArray:
    """Compute the gradient of :func:`max_pool_forward`: each winner gets all of it.

    Parameters
    ----------
    grad_out : ndarray of shape (batch, window rows, window columns, channels)
        Gradient of the loss in the output. Not changed.
    winner, window, workspace
        As the forward pass left them.
    grad_x : ndarray of shape (batch, height, width, channels), same dtype
        Overwritten.

    Returns
    -------
    grad_x : ndarray
        The array that was given.
    """
    return reference.max_pool_backward(grad_out, winner, window, workspace, grad_x)


def average_pool_forward(
    x: FloatArray, window: Window, *, include_padding: bool, out: FloatArray
) -> FloatArray:
    """Compute the average of each window.

    Parameters
    ----------
    x : ndarray of shape (batch, height, width, channels)
        Not changed.
    window : Window
        Padding adds nothing to the sum.
    include_padding : bool
        Whether to divide by all cells of the kernel, or by those inside the image.
    out : ndarray of shape (batch, window rows, window columns, channels), same dtype
        Overwritten.

    Returns
    -------
    out : ndarray
        The array that was given.
    """
    return reference.average_pool_forward(x, window, include_padding, out)


def average_pool_backward(
    grad_out: FloatArray,
    window: Window,
    workspace: Workspace,
    *,
    include_padding: bool,
    grad_x: FloatArray,
) -> FloatArray:
    """Compute the gradient of :func:`average_pool_forward`.

    Parameters
    ----------
    grad_out : ndarray of shape (batch, window rows, window columns, channels)
        Gradient of the loss in the output. Not changed.
    window, include_padding
        As in the forward pass.
    workspace : Workspace
        Lends scratch of the size of `grad_out`.
    grad_x : ndarray of shape (batch, height, width, channels), same dtype
        Overwritten.

    Returns
    -------
    grad_x : ndarray
        The array that was given.
    """
    return reference.average_pool_backward(
        grad_out, window, workspace, include_padding, grad_x
    )
