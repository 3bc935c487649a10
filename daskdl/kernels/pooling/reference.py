"""Pooling by one pass over the images for each cell of the kernel."""

from typing import Any

from numpy.typing import NDArray

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.arrays.workspace import Workspace
from daskdl.kernels.window import Window


def max_pool_forward(
    x: FloatArray,
    window: Window,
    workspace: Workspace,
    out: FloatArray,
    winner: NDArray[Any],
) -> FloatArray:
    """Compute what :func:`daskdl.kernels.pooling.max_pool_forward` says."""
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
    grad_x: FloatArray,
) -> FloatArray:
    """Compute what :func:`daskdl.kernels.pooling.max_pool_backward` says."""
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


def sum_pool_forward(x: FloatArray, window: Window, out: FloatArray) -> FloatArray:
    """Compute what :func:`daskdl.kernels.pooling.sum_pool_forward` says."""
    out.fill(0)
    for inside, windows in window.positions():
        out[windows] += x[inside]
    return out


def sum_pool_backward(
    grad_out: FloatArray, window: Window, grad_x: FloatArray
) -> FloatArray:
    """Compute what :func:`daskdl.kernels.pooling.sum_pool_backward` says."""
    grad_x.fill(0)
    for inside, windows in window.positions():
        grad_x[inside] += grad_out[windows]
    return grad_x


def average_pool_forward(
    x: FloatArray, window: Window, include_padding: bool, out: FloatArray
) -> FloatArray:
    """Compute what :func:`daskdl.kernels.pooling.average_pool_forward` says."""
    sum_pool_forward(x, window, out)
    out /= _divisor(window, include_padding, like=out)
    return out


def average_pool_backward(
    grad_out: FloatArray,
    window: Window,
    workspace: Workspace,
    include_padding: bool,
    grad_x: FloatArray,
) -> FloatArray:
    """Compute what :func:`daskdl.kernels.pooling.average_pool_backward` says."""
    xp = array_namespace(grad_out)
    share = workspace.take("pooling.share", grad_out.shape, grad_out.dtype)
    xp.divide(grad_out, _divisor(window, include_padding, like=grad_out), out=share)
    return sum_pool_backward(share, window, grad_x)


def pnorm_pool_forward(
    x: FloatArray,
    window: Window,
    exponent: int,
    workspace: Workspace,
    out: FloatArray,
) -> FloatArray:
    """Compute what :func:`daskdl.kernels.pooling.pnorm_pool_forward` says."""
    xp = array_namespace(x)
    powers = workspace.take("pooling.powers", x.shape, x.dtype)
    xp.abs(x, out=powers)
    xp.power(powers, exponent, out=powers)
    sum_pool_forward(powers, window, out)
    xp.power(out, 1 / exponent, out=out)
    return out


def pnorm_pool_backward(
    grad_out: FloatArray,
    x: FloatArray,
    output: FloatArray,
    window: Window,
    exponent: int,
    eps: float,
    workspace: Workspace,
    grad_x: FloatArray,
) -> FloatArray:
    """Compute what :func:`daskdl.kernels.pooling.pnorm_pool_backward` says."""
    xp = array_namespace(grad_out)
    share = workspace.take("pooling.share", grad_out.shape, grad_out.dtype)
    xp.maximum(output, eps, out=share)
    # Where the norm is 0 every x is 0, and so is the gradient below.
    xp.copyto(share, 1, where=output == 0)
    xp.power(share, 1 - exponent, out=share)
    xp.multiply(share, grad_out, out=share)
    sum_pool_backward(share, window, grad_x)
    powers = workspace.take("pooling.powers", x.shape, x.dtype)
    xp.abs(x, out=powers)
    xp.power(powers, exponent - 1, out=powers)
    xp.multiply(grad_x, powers, out=grad_x)
    xp.sign(x, out=powers)
    xp.multiply(grad_x, powers, out=grad_x)
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
