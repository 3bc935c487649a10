"""Pooling compiled for the CPU, one pass over memory for all cells of the kernel.

The loops see an image as one row of numbers, and get from
:func:`~daskdl.kernels.pooling.coverage.coverage` which windows cover its stretches.
So the loop nest is the same for series, images and volumes, padded and dilated or not::

    for image of the batch:
        for row of windows, for cell of the kernel:      # a row of the table
            for run of adjacent numbers:                 # one if the stride is 1,
                for i over the run: ...                  # else one a window

A row of windows stays in the first-level cache while the cells pass by. Most pooling
there is has windows of two by two cells side by side, and loops of its own: forward
with all four cells in registers, backward with every position written once.
"""

# mypy: disable-error-code="no-untyped-def"

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from daskdl.arrays.namespace import FloatArray
from daskdl.arrays.workspace import Workspace
from daskdl.kernels.jit import jit
from daskdl.kernels.pooling.coverage import Divided, coverage, divisors
from daskdl.kernels.window import Window


def max_pool_forward(
    x: FloatArray, window: Window, out: FloatArray, winner: NDArray[Any]
) -> None:
    """Write the largest value of each window, and the cell that holds it."""
    if _is_of_pairs(window):
        _max_forward_of_pairs(x, out, winner)
    else:
        _max_forward(*_flat(x), *_layout(x, window), *_flat(out, winner))


def max_pool_backward(
    grad_out: FloatArray, winner: NDArray[Any], window: Window, grad_x: FloatArray
) -> None:
    """Write the sum of the gradients of the windows that each position has won."""
    if _is_of_pairs(window):
        if any(axis.size % 2 for axis in window.axes):
            grad_x.fill(0)
        _max_backward_of_pairs(grad_out, winner, grad_x)
    else:
        layout = _layout(grad_x, window)
        _max_backward(*_flat(grad_out, winner), *layout, *_flat(grad_x))


def mean_pool_forward(
    x: FloatArray, window: Window, kind: Divided, out: FloatArray
) -> None:
    """Write the sum of each window, divided as :func:`.divisors` says."""
    by = divisors(window, kind, out.dtype)
    _mean_forward(*_flat(x), *_layout(x, window), by, *_flat(out))


def mean_pool_backward(
    grad_out: FloatArray,
    window: Window,
    kind: Divided,
    workspace: Workspace,
    grad_x: FloatArray,
) -> None:
    """Write the gradient of :func:`mean_pool_forward`."""
    (grads,) = _flat(grad_out)
    by = divisors(window, kind, grads.dtype)
    shares = workspace.take("pooling.share", grads.shape[1:], grads.dtype)
    _mean_backward(grads, *_layout(grad_x, window), by, shares, *_flat(grad_x))


def _is_of_pairs(window: Window) -> bool:
    """Return whether windows are two by two cells of an image, side by side."""
    return len(window.axes) == 2 and all(
        (axis.kernel, axis.stride, axis.dilation, axis.is_padded) == (2, 2, 1, False)
        for axis in window.axes
    )


def _layout(x: FloatArray, window: Window) -> tuple[NDArray[np.int64], int, int]:
    """Return what the loops ask of an input: table, stride, channels."""
    return coverage(window), window.axes[-1].stride, x.shape[-1]


def _flat(*arrays: NDArray[Any]) -> tuple[NDArray[Any], ...]:
    """Return the arrays with a row for each example."""
    return tuple(
        array.reshape(len(array), math.prod(array.shape[1:])) for array in arrays
    )


@jit
def _max_forward(x, table, stride, channels, out, winner):
    """Write the largest value of each window, and the cell that holds it.

    `x` is (batch, positions * channels), `out` and `winner` are (batch, windows *
    channels).
    """
    lowest = out.dtype.type(-np.inf)
    first = winner.dtype.type(0)
    for b in range(x.shape[0]):
        image, best, won = x[b], out[b], winner[b]
        for i in range(best.size):
            best[i] = lowest
            won[i] = first
        for t in range(table.shape[0]):
            number = winner.dtype.type(table[t, 0])
            runs, length, step = _runs(table[t, 3], stride, channels)
            start, window = table[t, 1] * channels, table[t, 2] * channels
            for r in range(runs):
                values = image[start + r * step : start + r * step + length]
                most = best[window + r * length : window + r * length + length]
                cell = won[window + r * length : window + r * length + length]
                for i in range(length):
                    most[i], cell[i] = _better(most[i], cell[i], values[i], number)


@jit
def _max_backward(grad_out, winner, table, stride, channels, grad_x):
    """Add the gradient of each window to that of its winner."""
    zero, one = grad_x.dtype.type(0), grad_x.dtype.type(1)
    for b in range(grad_x.shape[0]):
        image, grads, won = grad_x[b], grad_out[b], winner[b]
        for i in range(image.size):
            image[i] = zero
        for t in range(table.shape[0]):
            number = winner.dtype.type(table[t, 0])
            runs, length, step = _runs(table[t, 3], stride, channels)
            start, window = table[t, 1] * channels, table[t, 2] * channels
            for r in range(runs):
                target = image[start + r * step : start + r * step + length]
                grad = grads[window + r * length : window + r * length + length]
                cell = won[window + r * length : window + r * length + length]
                for i in range(length):
                    share = grad[i]
                    target[i] += share * (one if cell[i] == number else zero)


@jit
def _max_forward_of_pairs(x, out, winner):
    """Do as _max_forward for two by two cells, side by side.

    `x` is (batch, height, width, channels) with or without an odd last row or column;
    `out` and `winner` are (batch, height // 2, width // 2, channels).
    """
    zero, one = winner.dtype.type(0), winner.dtype.type(1)
    two, three = winner.dtype.type(2), winner.dtype.type(3)
    lowest = out.dtype.type(-np.inf)
    batch, height, width, channels = out.shape
    for b in range(batch):
        for i in range(height):
            for j in range(width):
                upper_left, upper_right = x[b, 2 * i, 2 * j], x[b, 2 * i, 2 * j + 1]
                lower_left = x[b, 2 * i + 1, 2 * j]
                lower_right = x[b, 2 * i + 1, 2 * j + 1]
                most, cell = out[b, i, j], winner[b, i, j]
                for c in range(channels):
                    best, number = _better(lowest, zero, upper_left[c], zero)
                    best, number = _better(best, number, upper_right[c], one)
                    best, number = _better(best, number, lower_left[c], two)
                    best, number = _better(best, number, lower_right[c], three)
                    most[c] = best
                    cell[c] = number


@jit
def _max_backward_of_pairs(grad_out, winner, grad_x):
    """Do as _max_backward for two by two cells, side by side.

    What windows of an odd last row or column would need stays as it is.
    """
    zero, one = grad_x.dtype.type(0), grad_x.dtype.type(1)
    batch, height, width, channels = grad_out.shape
    for b in range(batch):
        for row in range(2 * height):
            i, below = row >> 1, row & 1
            for j in range(width):
                grad, cell = grad_out[b, i, j], winner[b, i, j]
                for beside in range(2):
                    number = winner.dtype.type(2 * below + beside)
                    target = grad_x[b, 2 * i + below, 2 * j + beside]
                    for c in range(channels):
                        share = grad[c]
                        target[c] = share * (one if cell[c] == number else zero)


@jit
def _better(best, number, value, candidate):
    is_better = value > best
    # So that a NaN stays.
    return (
        value if is_better | (value != value) else best,
        candidate if is_better else number,
    )


@jit
def _mean_forward(x, table, stride, channels, divisors, out):
    """Write the sum of each window over its divisor, of shape (windows,)."""
    zero = out.dtype.type(0)
    for b in range(x.shape[0]):
        image, sums = x[b], out[b]
        for i in range(sums.size):
            sums[i] = zero
        for t in range(table.shape[0]):
            runs, length, step = _runs(table[t, 3], stride, channels)
            start, window = table[t, 1] * channels, table[t, 2] * channels
            for r in range(runs):
                values = image[start + r * step : start + r * step + length]
                target = sums[window + r * length : window + r * length + length]
                for i in range(length):
                    target[i] += values[i]
        for w in range(divisors.size):
            divisor = divisors[w]
            target = sums[w * channels : w * channels + channels]
            for i in range(channels):
                target[i] /= divisor


@jit
def _mean_backward(grad_out, table, stride, channels, divisors, shares, grad_x):
    """Add each window's gradient over its divisor to all of its cells.

    `shares` is scratch of one image of `grad_out`.
    """
    zero = grad_x.dtype.type(0)
    for b in range(grad_x.shape[0]):
        image, grads = grad_x[b], grad_out[b]
        for i in range(image.size):
            image[i] = zero
        for w in range(divisors.size):
            divisor = divisors[w]
            grad = grads[w * channels : w * channels + channels]
            share = shares[w * channels : w * channels + channels]
            for i in range(channels):
                share[i] = grad[i] / divisor
        for t in range(table.shape[0]):
            runs, length, step = _runs(table[t, 3], stride, channels)
            start, window = table[t, 1] * channels, table[t, 2] * channels
            for r in range(runs):
                target = image[start + r * step : start + r * step + length]
                share = shares[window + r * length : window + r * length + length]
                for i in range(length):
                    target[i] += share[i]


@jit
def _runs(windows, stride, channels):
    """Return number and length of the runs, and from start to start in the input."""
    if stride == 1:
        return 1, windows * channels, windows * channels
    return windows, channels, stride * channels
