"""Which windows cover which stretch of an image, as a table that loops can follow."""

import itertools
import math
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from daskdl.arrays.namespace import FloatArray
from daskdl.kernels.window import Window, WindowAxis

Divided: TypeAlias = Literal["sum", "kernel", "inside"]


@lru_cache(maxsize=256)
def coverage(window: Window) -> NDArray[np.int64]:
    """Return the rows of windows under each cell of the kernel.

    Parameters
    ----------
    window : Window
        Over any number of axes.

    Returns
    -------
    table : ndarray of shape (n, 4), int64
        A row of the kernel cell's number, the position in the input that it has in the
        first window, that window's number, and how many windows follow each other from
        there. Places and windows are counted row by row over all axes. Windows with the
        cell in the padding are left out. By window first and then by cell. Shared: not
        to be changed.
    """
    *leading, last = window.axes
    found = []
    for crossing in itertools.product(*map(_pairs, leading)):
        position = window_at = cell = 0
        for axis, (at, offset, start) in zip(leading, crossing, strict=True):
            window_at = window_at * axis.out + at
            cell = cell * axis.kernel + offset
            position = position * axis.size + start
        for offset in range(last.kernel):
            inside, windows = last.ranges(offset)
            row = (
                cell * last.kernel + offset,
                position * last.size + inside.start,
                window_at * last.out + windows.start,
                windows.stop - windows.start,
            )
            found.append((window_at, row))
    return np.array([row for _, row in sorted(found)], np.int64).reshape(-1, 4)


@lru_cache(maxsize=256)
def divisors(window: Window, kind: Divided, dtype: np.dtype[Any]) -> FloatArray:
    """Return the divisors that make the sum of each window a mean.

    Parameters
    ----------
    window : Window
        Over any number of axes.
    kind : {"sum", "kernel", "inside"}
        By 1, by the cells of the kernel, or by those of them inside the input; by 1
        also where there is none.
    dtype : dtype
        Of the numbers.

    Returns
    -------
    divisors : ndarray of shape (windows,)
        Shared: not to be changed.
    """
    if kind != "inside":
        divisor = window.n_cells if kind == "kernel" else 1
        return np.full(math.prod(window.out), divisor, dtype)
    cells = np.ones(1, dtype)
    for axis in window.axes:
        cells = np.multiply.outer(cells, np.asarray(axis.counts(), dtype))
    return np.maximum(cells.reshape(-1), 1)


def _pairs(axis: WindowAxis) -> Iterable[tuple[int, int, int]]:
    """Yield each (window, kernel cell, position) of an axis inside the input."""
    for offset in range(axis.kernel):
        inside, windows = axis.ranges(offset)
        positions = range(inside.start, inside.stop, inside.step)
        indices = range(windows.start, windows.stop)
        for at, position in zip(indices, positions, strict=True):
            yield at, offset, position
