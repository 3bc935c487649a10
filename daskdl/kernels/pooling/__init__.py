"""Pooling of series, images and volumes: maximum, sum, average or norm of windows."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from daskdl.arrays.namespace import FloatArray
from daskdl.arrays.workspace import Workspace
from daskdl.kernels.dispatch import is_compiled_for
from daskdl.kernels.pooling import cpu, reference
from daskdl.kernels.pooling.meetings import Divided, divisors, meetings
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
    if not is_compiled_for(x, out):
        return reference.max_pool_forward(x, window, workspace, out, winner)
    if _is_of_pairs(window):
        cpu.max_pool_pairs_forward(x, out, winner)
    else:
        cpu.max_pool_forward(*_flat(x), *_layout(x, window), *_flat(out, winner))
    return out


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
    if not is_compiled_for(grad_out, grad_x):
        return reference.max_pool_backward(grad_out, winner, window, workspace, grad_x)
    if _is_of_pairs(window):
        if any(axis.size % 2 for axis in window.axes):
            grad_x.fill(0)
        cpu.max_pool_pairs_backward(grad_out, winner, grad_x)
    else:
        layout = _layout(grad_x, window)
        cpu.max_pool_backward(*_flat(grad_out, winner), *layout, *_flat(grad_x))
    return grad_x


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
    if not is_compiled_for(x, out):
        return reference.sum_pool_forward(x, window, out)
    return _mean_forward(x, window, "sum", out)


def sum_pool_backward(
    grad_out: FloatArray, window: Window, workspace: Workspace, *, grad_x: FloatArray
) -> FloatArray:
    """Compute the gradient of :func:`sum_pool_forward`.

    Parameters
    ----------
    grad_out : ndarray of shape (batch, *window.out, channels)
        Gradient of the loss in the output. Not changed.
    window : Window
        As in the forward pass.
    workspace : Workspace
        Lends scratch of the size of an image of `grad_out`.
    grad_x : ndarray of shape (batch, *axes, channels), same dtype
        Overwritten.

    Returns
    -------
    grad_x : ndarray
        The array that was given.
    """
    if not is_compiled_for(grad_out, grad_x):
        return reference.sum_pool_backward(grad_out, window, grad_x)
    return _mean_backward(grad_out, window, "sum", workspace, grad_x)


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
    if not is_compiled_for(x, out):
        return reference.average_pool_forward(x, window, include_padding, out)
    return _mean_forward(x, window, _divided(window, include_padding), out)


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
    if not is_compiled_for(grad_out, grad_x):
        return reference.average_pool_backward(
            grad_out, window, workspace, include_padding, grad_x
        )
    kind = _divided(window, include_padding)
    return _mean_backward(grad_out, window, kind, workspace, grad_x)


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


def _mean_forward(
    x: FloatArray, window: Window, kind: Divided, out: FloatArray
) -> FloatArray:
    by = divisors(window, kind, out.dtype)
    cpu.mean_pool_forward(*_flat(x), *_layout(x, window), by, *_flat(out))
    return out


def _mean_backward(
    grad_out: FloatArray,
    window: Window,
    kind: Divided,
    workspace: Workspace,
    grad_x: FloatArray,
) -> FloatArray:
    (grads,) = _flat(grad_out)
    by = divisors(window, kind, grads.dtype)
    shares = workspace.take("pooling.share", grads.shape[1:], grads.dtype)
    layout = _layout(grad_x, window)
    cpu.mean_pool_backward(grads, *layout, by, shares, *_flat(grad_x))
    return grad_x


def _divided(window: Window, include_padding: bool) -> Divided:
    return "kernel" if include_padding or not window.is_padded else "inside"


def _is_of_pairs(window: Window) -> bool:
    """Return whether windows are two by two cells of an image, side by side."""
    return len(window.axes) == 2 and all(
        (axis.kernel, axis.stride, axis.dilation, axis.is_padded) == (2, 2, 1, False)
        for axis in window.axes
    )


def _layout(x: FloatArray, window: Window) -> tuple[NDArray[np.int64], int, int]:
    """Return what the compiled kernels ask of an input: table, stride, channels."""
    return meetings(window), window.axes[-1].stride, x.shape[-1]


def _flat(*arrays: NDArray[Any]) -> tuple[NDArray[Any], ...]:
    """Return the arrays with a row for each example."""
    return tuple(
        array.reshape(len(array), math.prod(array.shape[1:])) for array in arrays
    )
