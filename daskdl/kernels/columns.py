"""Windows as the rows of a matrix, gathered from arrays and added back to them.

In (batch, *axes, channels) the row of a window is made of runs of (last kernel axis) x
channels values, so that one strided copy gathers the rows of all windows.

Rows go through in blocks that fill at most `COLUMNS_BYTES`, and are still in a level-2
cache when a product reads them: 16 times as many cost a fifth more time (see design
0005), and the rows of a whole batch can need gigabytes.
"""

import itertools
import math
from collections.abc import Iterator

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.arrays.workspace import Workspace
from daskdl.kernels.window import Window

COLUMNS_BYTES = 2**20


def gathered(
    x: FloatArray, window: Window, workspace: Workspace
) -> Iterator[tuple[tuple[slice, slice], FloatArray]]:
    """Yield all windows of `x` block by block.

    Parameters
    ----------
    x : ndarray of shape (batch, *axes, channels)
        Not changed.
    window : Window
        Slides over `x`; the padding is zeros.
    workspace : Workspace
        Lends the rows.

    Yields
    ------
    part : (slice, slice)
        Which images, and which windows along the first axis: an index into
        (batch, *window.out, ...), contiguous there.
    rows : ndarray of shape (n_rows, window.n_cells * channels), same dtype
        Row (image, *window), column (*kernel cell, channel). Read them only, and before
        the next come.
        In the order of memory that has the longer runs to copy: the last kernel axis
        with its channels, or the last axis of windows.
    """
    n_images, lines = _images_per_block(x, window), _line_blocks(x, window)
    source = x
    if window.is_padded:
        source = _zeros(x[:n_images], window, workspace)
        inside, kept = source[_inside(window)], x[_kept(window)]
    windows = windows_of(source, window)
    for start in range(0, x.shape[0], n_images):
        images = slice(start, min(start + n_images, x.shape[0]))
        of_images = windows[images]
        if window.is_padded:
            n = images.stop - start
            inside[:n] = kept[images]
            of_images = windows[:n]
        for line in lines:
            yield (images, line), _copied(of_images[:, line], window, workspace)


def padded(x: FloatArray, window: Window, workspace: Workspace) -> FloatArray:
    """Return `x` with the zeros of the padding: a copy, or itself without padding.

    Parameters
    ----------
    x : ndarray of shape (batch, *window.sizes, channels)
        Not changed.
    window : Window
        Says how much padding there is, and what of `x` no window reaches.
    workspace : Workspace
        Lends the copy.

    Returns
    -------
    ndarray of shape (batch, *spans, channels), same dtype
        Each span is that of an axis of the window, its padding included.
    """
    if not window.is_padded:
        return x
    source = _zeros(x, window, workspace)
    source[_inside(window)] = x[_kept(window)]
    return source


def windows_of(source: FloatArray, window: Window) -> FloatArray:
    """Return a view of all windows, (batch, *windows, *kernel, channels).

    Parameters
    ----------
    source : ndarray of shape (batch, *axes, channels)
        With the padding in it, if there is any.
    window : Window
        Where the windows lie.
    """
    batch, *steps, channel = source.strides
    kernel = window.kernel
    view: FloatArray = array_namespace(source).lib.stride_tricks.as_strided(
        source,
        (source.shape[0], *window.out, *kernel, source.shape[-1]),
        (
            batch,
            *(s * axis.stride for s, axis in zip(steps, window.axes, strict=True)),
            *(s * axis.dilation for s, axis in zip(steps, window.axes, strict=True)),
            channel,
        ),
    )
    return view


def scattered(
    x: FloatArray, window: Window, workspace: Workspace
) -> Iterator[tuple[tuple[slice, slice], FloatArray]]:
    """Overwrite `x` with the sums of overlapping windows, block by block (col2im).

    Parameters
    ----------
    x : ndarray of shape (batch, *axes, channels)
        Overwritten; 0 where no window lies.
    window, workspace
        As for :func:`gathered`.

    Yields
    ------
    part : (slice, slice)
        As of :func:`gathered`.
    rows : ndarray of shape (n_rows, window.n_cells * channels), same dtype
        Uninitialised; what the caller writes into it is added to `x`.
    """
    n_images, lines = _images_per_block(x, window), _line_blocks(x, window)
    kernel = window.kernel
    for start in range(0, x.shape[0], n_images):
        images = slice(start, min(start + n_images, x.shape[0]))
        target = _opened(x[images], window, workspace)
        for line in lines:
            out = (line.stop - line.start, *window.out[1:])
            n_rows = target.shape[0] * math.prod(out)
            shape = (n_rows, window.n_cells * target.shape[-1])
            rows = workspace.take("columns.rows", shape, x.dtype)
            yield (images, line), rows
            cells = rows.reshape(-1, *out, *kernel, target.shape[-1])
            _add(cells, window, target[:, line.start * window.axes[0].stride :])
        _close(target, x[images], window)


def add_windows(
    cells: FloatArray, window: Window, workspace: Workspace, *, out: FloatArray
) -> FloatArray:
    """Sum overlapping windows into the positions that their cells lie on (col2im).

    Parameters
    ----------
    cells : ndarray of shape (batch, *window.out, *kernel, channels)
        Not changed.
    window, workspace
        As for :func:`gathered`.
    out : ndarray of shape (batch, *axes, channels), same dtype
        Overwritten; 0 where no window lies.

    Returns
    -------
    out : ndarray
    """
    target = _opened(out, window, workspace)
    _add(cells, window, target)
    _close(target, out, window)
    return out


def _images_per_block(x: FloatArray, window: Window) -> int:
    return max(1, COLUMNS_BYTES // _bytes_per_image(x, window))


def _line_blocks(x: FloatArray, window: Window) -> list[slice]:
    """Return all windows along the first axis, unless one image alone has too many."""
    out = window.axes[0].out
    lines = max(1, COLUMNS_BYTES * out // _bytes_per_image(x, window))
    return [slice(start, min(start + lines, out)) for start in range(0, out, lines)]


def _bytes_per_image(x: FloatArray, window: Window) -> int:
    n_rows = math.prod(window.out)
    n_bytes: int = n_rows * window.n_cells * x.shape[-1] * x.dtype.itemsize
    return n_bytes


def _copied(windows: FloatArray, window: Window, workspace: Workspace) -> FloatArray:
    """Return windows as contiguous rows: a copy, unless they are single cells."""
    xp = array_namespace(windows)
    n_axes = len(window.axes)
    n_columns = window.n_cells * windows.shape[-1]
    if windows.flags.c_contiguous:
        return windows.reshape(-1, n_columns)
    last = window.axes[-1]
    scratch: FloatArray
    if last.kernel * windows.shape[-1] >= last.out:
        scratch = workspace.take("columns.rows", windows.shape, windows.dtype)
        xp.copyto(scratch, windows)
        return scratch.reshape(-1, n_columns)
    order = (*range(n_axes + 1, 2 * n_axes + 2), *range(n_axes + 1))
    cells_first = windows.transpose(order)
    scratch = workspace.take("columns.rows", cells_first.shape, windows.dtype)
    xp.copyto(scratch, cells_first)
    transposed: FloatArray = scratch.reshape(n_columns, -1).T
    return transposed


def _add(cells: FloatArray, window: Window, target: FloatArray) -> None:
    """Add cells (images, *windows, *kernel, channels) where they came from."""
    n_axes = len(window.axes)
    every = (slice(None),) * (n_axes + 1)
    reaches = [
        [
            _covered(offset, axis.dilation, axis.stride, n)
            for offset in range(axis.kernel)
        ]
        for axis, n in zip(window.axes, cells.shape[1:], strict=False)
    ]
    offsets = (range(axis.kernel) for axis in window.axes)
    for cell, covered in zip(
        itertools.product(*offsets), itertools.product(*reaches), strict=True
    ):
        index = (slice(None), *covered)
        target[index] += cells[every + cell]


def _covered(offset: int, dilation: int, stride: int, n_windows: int) -> slice:
    start = offset * dilation
    return slice(start, start + (n_windows - 1) * stride + 1, stride)


def _opened(x: FloatArray, window: Window, workspace: Workspace) -> FloatArray:
    """Return zeros to add rows to: `x` itself, or scratch with padding around it."""
    if window.is_padded:
        return _zeros(x, window, workspace)
    x.fill(0)
    return x


def _close(target: FloatArray, x: FloatArray, window: Window) -> None:
    """Overwrite `x` with what was added to the array that :func:`_opened` returned."""
    if not window.is_padded:
        return
    if any(axis.kept < axis.size for axis in window.axes):
        x.fill(0)
    x[_kept(window)] = target[_inside(window)]


def _zeros(x: FloatArray, window: Window, workspace: Workspace) -> FloatArray:
    shape = (x.shape[0], *(axis.span for axis in window.axes), x.shape[-1])
    zeros: FloatArray = workspace.take("columns.padded", shape, x.dtype)
    zeros.fill(0)
    return zeros


def _kept(window: Window) -> tuple[slice, ...]:
    return (slice(None), *(slice(axis.kept) for axis in window.axes))


def _inside(window: Window) -> tuple[slice, ...]:
    return (
        slice(None),
        *(slice(axis.before, axis.before + axis.kept) for axis in window.axes),
    )
