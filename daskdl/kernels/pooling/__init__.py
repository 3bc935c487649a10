"""Pooling of series, images and volumes: maximum, sum, average or norm of windows."""

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
    x : ndarray of shape (batch, *axes, channels)
        Not changed.
    window : Window
        Padding counts as minus infinity: it never wins.
    workspace : Workspace
        Lends scratch of the size of `out`.
    out : ndarray of shape (batch, *window.out, channels), same dtype
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
    grad_out : ndarray of shape (batch, *window.out, channels)
        Gradient of the loss in the output. Not changed.
    winner, window, workspace
        As the forward pass left them.
    grad_x : ndarray of shape (batch, *axes, channels), same dtype
        Overwritten.

    Returns
    -------
    grad_x : ndarray
        The array that was given.
    """
    return reference.max_pool_backward(grad_out, winner, window, workspace, grad_x)


def sum_pool_forward(x: FloatArray, window: Window, *, out: FloatArray) -> FloatArray:
    """Compute the sum of each window.

    Parameters
    ----------
    x : ndarray of shape (batch, *axes, channels)
        Not changed.
    window : Window
        Padding adds nothing to the sum.
    out : ndarray of shape (batch, *window.out, channels), same dtype
        Overwritten.

    Returns
    -------
    out : ndarray
        The array that was given.
    """
    return reference.sum_pool_forward(x, window, out)


def sum_pool_backward(
    grad_out: FloatArray, window: Window, *, grad_x: FloatArray
) -> FloatArray:
    """Compute the gradient of :func:`sum_pool_forward`.

    Parameters
    ----------
    grad_out : ndarray of shape (batch, *window.out, channels)
        Gradient of the loss in the output. Not changed.
    window : Window
        As in the forward pass.
    grad_x : ndarray of shape (batch, *axes, channels), same dtype
        Overwritten.

    Returns
    -------
    grad_x : ndarray
        The array that was given.
    """
    return reference.sum_pool_backward(grad_out, window, grad_x)


def average_pool_forward(
    x: FloatArray, window: Window, *, include_padding: bool, out: FloatArray
) -> FloatArray:
    """Compute the average of each window.

    Parameters
    ----------
    x : ndarray of shape (batch, *axes, channels)
        Not changed.
    window : Window
        Padding adds nothing to the sum.
    include_padding : bool
        Whether to divide by all cells of the kernel, or by those inside the input.
    out : ndarray of shape (batch, *window.out, channels), same dtype
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
    grad_out : ndarray of shape (batch, *window.out, channels)
        Gradient of the loss in the output. Not changed.
    window, include_padding
        As in the forward pass.
    workspace : Workspace
        Lends scratch of the size of `grad_out`.
    grad_x : ndarray of shape (batch, *axes, channels), same dtype
        Overwritten.

    Returns
    -------
    grad_x : ndarray
        The array that was given.
    """
    return reference.average_pool_backward(
        grad_out, window, workspace, include_padding, grad_x
    )


def pnorm_pool_forward(
    x: FloatArray,
    window: Window,
    exponent: int,
    workspace: Workspace,
    *,
    out: FloatArray,
) -> FloatArray:
    """Compute the p-norm of each window, ``(sum |x|^p)^(1/p)``.

    Parameters
    ----------
    x : ndarray of shape (batch, *axes, channels)
        Not changed.
    window : Window
        Padding adds nothing to the sum.
    exponent : int
        p, at least 1.
    workspace : Workspace
        Lends scratch of the size of `x`.
    out : ndarray of shape (batch, *window.out, channels), same dtype
        Overwritten.

    Returns
    -------
    out : ndarray
        The array that was given.
    """
    return reference.pnorm_pool_forward(x, window, exponent, workspace, out)


def pnorm_pool_backward(
    grad_out: FloatArray,
    x: FloatArray,
    output: FloatArray,
    window: Window,
    exponent: int,
    workspace: Workspace,
    *,
    eps: float,
    grad_x: FloatArray,
) -> FloatArray:
    """Compute the gradient of :func:`pnorm_pool_forward`.

    Parameters
    ----------
    grad_out : ndarray of shape (batch, *window.out, channels)
        Gradient of the loss in the output. Not changed.
    x, output, window, exponent
        What the forward pass saw and returned. Not changed.
    workspace : Workspace
        Lends scratch of the sizes of `x` and `grad_out`.
    eps : float
        Least norm that a gradient is divided by. A window of zeros has the gradient 0.
    grad_x : ndarray like x
        Overwritten.

    Returns
    -------
    grad_x : ndarray
        The array that was given.
    """
    return reference.pnorm_pool_backward(
        grad_out, x, output, window, exponent, eps, workspace, grad_x
    )
