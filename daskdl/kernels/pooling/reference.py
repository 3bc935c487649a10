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


def average_pool_forward(
    x: FloatArray, window: Window, include_padding: bool, out: FloatArray
) -> FloatArray:
    """Compute what :func:`daskdl.kernels.pooling.average_pool_forward` says."""
    out.fill(0)
    for inside, windows in window.positions():
        out[windows] += x[inside]
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
    grad_x.fill(0)
    for inside, windows in window.positions():
        grad_x[inside] += share[windows]
    return grad_x


def _divisor(window: Window, include_padding: bool, like: FloatArray) -> Any:
    """Return the number of cells a window, of shape (rows, columns, 1) or (1, 1, 1)."""
    xp = array_namespace(like)
    if include_padding or not window.is_padded:
        return xp.full((1, 1, 1), window.n_cells, dtype=like.dtype)
    rows = xp.asarray(window.height.counts(), dtype=like.dtype)
    columns = xp.asarray(window.width.counts(), dtype=like.dtype)
    cells = rows[:, None, None] * columns[None, :, None]
    # A window that lies in the padding entirely has sum 0: it stays 0.
    return xp.maximum(cells, 1)
