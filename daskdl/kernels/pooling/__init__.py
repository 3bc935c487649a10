"""Pooling of series, images and volumes: maximum, sum, average or norm of windows."""

from typing import Any

from numpy.typing import NDArray

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.arrays.workspace import Workspace
from daskdl.kernels.dispatch import is_compiled_for
from daskdl.kernels.pooling import cpu, gpu
from daskdl.kernels.pooling.coverage import Divided
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
    if is_compiled_for(x, out):
        cpu.max_pool_forward(x, window, out, winner)
        return out
    if gpu.takes(x, out, window, winner):
        gpu.max_pool_forward(x, window, out, winner)
        return out
    xp = array_namespace(x)
    out.fill(-xp.inf)
    winner.fill(0)
    # Operations on strided images and with `where` take several times as long as on
    # contiguous arrays, so that a copy first pays.
    candidate = workspace.take("pooling.candidate", out.shape, out.dtype)
    better = workspace.take("pooling.better", out.shape, xp.bool_)
    number = workspace.take("pooling.number", out.shape, winner.dtype)
    for cell, (inside, windows) in enumerate(window.positions()):
        xp.copyto(candidate[windows], x[inside])
        xp.greater(candidate[windows], out[windows], out=better[windows])
        # maximum, not the comparison above, so that a NaN is not lost.
        xp.maximum(out[windows], candidate[windows], out=out[windows])
        xp.multiply(
            better.view(xp.uint8)[windows], winner.dtype.type(cell), out=number[windows]
        )
        # A later cell has a greater number.
        xp.maximum(winner[windows], number[windows], out=winner[windows])
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
    if is_compiled_for(grad_out, grad_x):
        cpu.max_pool_backward(grad_out, winner, window, grad_x)
        return grad_x
    if gpu.takes(grad_out, grad_x, window, winner):
        gpu.max_pool_backward(grad_out, winner, window, grad_x)
        return grad_x
    xp = array_namespace(grad_out)
    won = workspace.take("pooling.better", grad_out.shape, xp.bool_)
    share = workspace.take("pooling.share", grad_out.shape, grad_out.dtype)
    grad_x.fill(0)
    for cell, (inside, windows) in enumerate(window.positions()):
        xp.equal(winner[windows], winner.dtype.type(cell), out=won[windows])
        # Copied first: a product of numbers and booleans converts in small pieces.
        xp.copyto(share[windows], won[windows])
        xp.multiply(share[windows], grad_out[windows], out=share[windows])
        if window.overlaps:
            grad_x[inside] += share[windows]
        else:
            xp.copyto(grad_x[inside], share[windows])
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
    if is_compiled_for(x, out):
        cpu.mean_pool_forward(x, window, "sum", out)
        return out
    if gpu.takes(x, out, window):
        gpu.mean_pool_forward(x, window, "sum", out)
        return out
    return _sums(x, window, out)


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
    if is_compiled_for(grad_out, grad_x):
        cpu.mean_pool_backward(grad_out, window, "sum", workspace, grad_x)
        return grad_x
    if gpu.takes(grad_out, grad_x, window):
        gpu.mean_pool_backward(grad_out, window, "sum", grad_x)
        return grad_x
    return _shares(grad_out, window, grad_x)


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
    kind: Divided = "kernel" if include_padding else "inside"
    if is_compiled_for(x, out):
        cpu.mean_pool_forward(x, window, kind, out)
        return out
    if gpu.takes(x, out, window):
        gpu.mean_pool_forward(x, window, kind, out)
        return out
    _sums(x, window, out)
    out /= _divisor(window, include_padding, like=out)
    return out


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
    kind: Divided = "kernel" if include_padding else "inside"
    if is_compiled_for(grad_out, grad_x):
        cpu.mean_pool_backward(grad_out, window, kind, workspace, grad_x)
        return grad_x
    if gpu.takes(grad_out, grad_x, window):
        gpu.mean_pool_backward(grad_out, window, kind, grad_x)
        return grad_x
    xp = array_namespace(grad_out)
    share = workspace.take("pooling.share", grad_out.shape, grad_out.dtype)
    xp.divide(grad_out, _divisor(window, include_padding, like=grad_out), out=share)
    return _shares(share, window, grad_x)


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
    xp = array_namespace(x)
    powers = workspace.take("pooling.powers", x.shape, x.dtype)
    xp.abs(x, out=powers)
    xp.power(powers, exponent, out=powers)
    _sums(powers, window, out)
    xp.power(out, 1 / exponent, out=out)
    return out


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
    xp = array_namespace(grad_out)
    share = workspace.take("pooling.share", grad_out.shape, grad_out.dtype)
    xp.maximum(output, eps, out=share)
    # Where the norm is 0 every x is 0, and so is the gradient below.
    xp.copyto(share, 1, where=output == 0)
    xp.power(share, 1 - exponent, out=share)
    xp.multiply(share, grad_out, out=share)
    _shares(share, window, grad_x)
    powers = workspace.take("pooling.powers", x.shape, x.dtype)
    xp.abs(x, out=powers)
    xp.power(powers, exponent - 1, out=powers)
    xp.multiply(grad_x, powers, out=grad_x)
    xp.sign(x, out=powers)
    xp.multiply(grad_x, powers, out=grad_x)
    return grad_x


def _sums(x: FloatArray, window: Window, out: FloatArray) -> FloatArray:
    """Overwrite `out` with the sum of each window."""
    out.fill(0)
    for inside, windows in window.positions():
        out[windows] += x[inside]
    return out


def _shares(grad_out: FloatArray, window: Window, grad_x: FloatArray) -> FloatArray:
    """Overwrite `grad_x` with the sum of what the windows over each position hold."""
    grad_x.fill(0)
    for inside, windows in window.positions():
        grad_x[inside] += grad_out[windows]
    return grad_x


def _divisor(window: Window, include_padding: bool, like: FloatArray) -> Any:
    """Return the cells of a window, of a shape that goes with (*windows, channels)."""
    xp = array_namespace(like)
    if include_padding or not window.is_padded:
        return xp.full((1, 1), window.n_cells, dtype=like.dtype)
    cells = xp.ones(1, dtype=like.dtype)
    for axis in window.axes:
        cells = cells[..., None] * xp.asarray(axis.counts(), dtype=like.dtype)
    # A window that lies in the padding entirely has sum 0: it stays 0.
    return xp.maximum(cells[0, ..., None], 1)
