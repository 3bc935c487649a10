"""Windows as the rows of one matrix each, and rows added back to their positions.

A row holds one channel after another, as the weights do.
"""

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from daskdl.arrays.namespace import FloatArray
from daskdl.arrays.workspace import Workspace
from daskdl.kernels.columns import add_windows, padded, windows_of
from daskdl.kernels.dispatch import is_compiled_for
from daskdl.kernels.locally_connected import cpu
from daskdl.kernels.window import Window


def gathered(
    x: FloatArray, window: Window, workspace: Workspace, by_column: bool
) -> FloatArray:
    """Return the windows of all examples as rows (im2col).

    Parameters
    ----------
    x : ndarray of shape (batch, *axes, channels)
        Not changed.
    window : Window
        Slides over `x`; the padding is zeros.
    workspace : Workspace
        Lends the rows.
    by_column : bool
        Whether windows are counted with the first axis running fastest, or the last.

    Returns
    -------
    rows : ndarray of shape (n_windows, batch, channels * window.n_cells), same dtype
        A buffer, C-contiguous.
    """
    shape = (math.prod(window.out), x.shape[0], x.shape[-1], window.n_cells)
    rows: FloatArray = workspace.take("local.rows", shape, x.dtype)
    if is_compiled_for(x):
        cpu.gather(_flat(x), _positions(window, by_column), rows)
    else:
        windows = windows_of(padded(x, window, workspace), window)
        _as_windows(rows, window, by_column)[...] = windows
    return rows.reshape(*shape[:2], shape[2] * shape[3])


def add_rows(
    rows: FloatArray,
    window: Window,
    workspace: Workspace,
    by_column: bool,
    *,
    out: FloatArray,
) -> FloatArray:
    """Sum overlapping windows, one a row, into the positions that they lie on (col2im).

    Parameters
    ----------
    rows : ndarray of shape (n_windows, batch, channels * window.n_cells)
        C-contiguous. Not changed.
    window, workspace, by_column
        As for :func:`gathered`.
    out : ndarray of shape (batch, *axes, channels), same dtype
        Overwritten; 0 where no window lies.

    Returns
    -------
    out : ndarray
        The array that was given.
    """
    cells = rows.reshape(*rows.shape[:2], out.shape[-1], window.n_cells)
    if is_compiled_for(rows, out):
        cpu.scatter_add(cells, _positions(window, by_column), _flat(out))
        return out
    windows = _as_windows(cells, window, by_column)
    return add_windows(windows, window, workspace, out=out)


def _as_windows(rows: FloatArray, window: Window, by_column: bool) -> FloatArray:
    """Return a view of rows as (batch, *windows, *kernel, channels)."""
    n = len(window.axes)
    kernel = window.kernel
    counted = _counted(window, by_column)
    out = (window.out[axis] for axis in counted)
    cells = rows.reshape(*out, *rows.shape[1:3], *kernel)
    # The order of the axes is its own inverse.
    order = (n, *counted, *range(n + 2, 2 * n + 2), n + 1)
    windows: FloatArray = cells.transpose(order)
    return windows


def _flat(x: FloatArray) -> FloatArray:
    """Return (batch, *axes, channels) as (batch, positions, channels)."""
    return x.reshape(x.shape[0], math.prod(x.shape[1:-1]), x.shape[-1])


def _counted(window: Window, by_column: bool) -> tuple[int, ...]:
    """Return the axes of windows in the order in which they are counted."""
    axes = tuple(range(len(window.axes)))
    return axes[::-1] if by_column else axes


@lru_cache(maxsize=256)
def _positions(window: Window, by_column: bool) -> NDArray[np.int64]:
    """Return the position under each cell of each window, -1 in the padding."""
    sizes = window.sizes
    positions = np.arange(math.prod(sizes), dtype=np.int64).reshape(1, *sizes, 1)
    table = np.full((1, *window.out, window.n_cells), -1, np.int64)
    for cell, (inside, windows) in enumerate(window.positions()):
        table[..., cell : cell + 1][windows] = positions[inside]
    by_window = table[0].transpose(*_counted(window, by_column), len(sizes))
    return np.ascontiguousarray(by_window.reshape(-1, window.n_cells))
