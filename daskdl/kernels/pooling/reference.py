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
    better = workspace.take("pooling.better", out.shape, xp.bool_)
    for cell, (inside, windows) in enumerate(window.positions()):
        candidate, best = x[inside], out[windows]
        xp.greater(candidate, best, out=better[windows])
        xp.copyto(winner[windows], cell, where=better[windows])
        # maximum, not the comparison above, so that a NaN is not lost.
        xp.maximum(best, candidate, out=best)
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
        xp.equal(winner[windows], cell, out=won[windows])
        if not window.overlaps:
            xp.multiply(grad_out[windows], won[windows], out=grad_x[inside])
            continue
        xp.multiply(grad_out[windows], won[windows], out=share[windows])
        grad_x[inside] += share[windows]
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
