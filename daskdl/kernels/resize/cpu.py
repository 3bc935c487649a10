"""Repeating cells compiled for the CPU: what is far apart in memory comes last.

Images are volumes of depth 1, series those of height 1 too. Each row of cells is
repeated along itself once, and the row that comes of it is copied to where it belongs;
backwards the copies are summed row by row, and only then along the row::

    for row of cells:
        for cell, for copy along the row: its channels
        for copy of the row: all of it                   # long runs
"""

# mypy: disable-error-code="no-untyped-def"

import math

from daskdl.arrays.namespace import FloatArray
from daskdl.arrays.workspace import Workspace
from daskdl.kernels.jit import jit


def upsample_forward(x: FloatArray, size: tuple[int, ...], out: FloatArray) -> None:
    """Write each cell of `x` to all its copies."""
    _upsample_forward(_cells(x), size[-1], _copies(x, size, out))


def upsample_backward(
    grad_out: FloatArray,
    size: tuple[int, ...],
    workspace: Workspace,
    grad_x: FloatArray,
) -> None:
    """Write the sum over the copies of each cell."""
    copies = _copies(grad_x, size, grad_out)
    sums = workspace.take("resize.row", copies.shape[-1:], copies.dtype)
    _upsample_backward(copies, size[-1], sums, _cells(grad_x))


def _cells(x: FloatArray) -> FloatArray:
    """Return an array as (slices, rows, width, channels)."""
    *slices, rows, width, channels = (1, *x.shape) if x.ndim == 3 else x.shape
    return x.reshape(math.prod(slices), rows, width, channels)


def _copies(x: FloatArray, size: tuple[int, ...], repeated: FloatArray) -> FloatArray:
    """Return (slices, copies, rows, copies, numbers of a row) of what `x` becomes.

    A series is a row: its examples are what rows are in an image.
    """
    slices, rows, width, channels = _cells(x).shape
    deep, high, wide = (1,) * (3 - len(size)) + size
    shape = (slices, deep, rows, high, width * wide * channels)
    return repeated.reshape(shape)


Side = tuple[int, int]


@jit
def _upsample_forward(x, across, out):
    """Write each cell `across` times along its row, and the row to all its copies.

    `x` is (slices, rows, width, channels), `out` (slices, copies, rows, copies,
    width * across * channels).
    """
    channels = x.shape[3]
    for s in range(x.shape[0]):
        for r in range(x.shape[1]):
            first = out[s, 0, r, 0]
            for w in range(x.shape[2]):
                cell = x[s, r, w]
                start = w * across * channels
                for k in range(across):
                    copy = first[start + k * channels : start + (k + 1) * channels]
                    for c in range(channels):
                        copy[c] = cell[c]
            for i in range(out.shape[1]):
                for j in range(out.shape[3]):
                    if i + j > 0:
                        copy = out[s, i, r, j]
                        for k in range(first.size):
                            copy[k] = first[k]


@jit
def _upsample_backward(grad_out, across, sums, grad_x):
    """Write the sums over the copies; arguments as of :func:`_upsample_forward`.

    `sums` is scratch of a row of `grad_out`.
    """
    channels = grad_x.shape[3]
    for s in range(grad_x.shape[0]):
        for r in range(grad_x.shape[1]):
            _sum_rows(grad_out[s], r, sums)
            for w in range(grad_x.shape[2]):
                cell = grad_x[s, r, w]
                start = w * across * channels
                copy = sums[start : start + channels]
                for c in range(channels):
                    cell[c] = copy[c]
                for k in range(1, across):
                    copy = sums[start + k * channels : start + (k + 1) * channels]
                    for c in range(channels):
                        cell[c] += copy[c]


@jit
def _sum_rows(grads, r, sums):
    """Write the sum over the copies of a row."""
    first = grads[0, r, 0]
    for k in range(sums.size):
        sums[k] = first[k]
    for i in range(grads.shape[0]):
        for j in range(grads.shape[2]):
            if i + j > 0:
                copy = grads[i, r, j]
                for k in range(sums.size):
                    sums[k] += copy[k]
