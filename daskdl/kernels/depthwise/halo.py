"""Where the numbers of an image lie between zeros, so that windows need no borders."""

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from daskdl.kernels.window import Window, WindowAxis

Table = NDArray[np.int64]


# Compared by identity: one for each window.
@dataclass(frozen=True, eq=False)
class Halo:
    """An image with its padding, sorted so that all windows of a row are neighbours.

    Along the last axis the places come by their remainder by the stride: first all
    that are 0, stride, 2 stride and so on, then those one further on. What a cell of
    the kernel meets in windows that follow each other is then one run, whatever the
    stride::

        place      0 1 2 3 4 5 6      windows of 3 every 2
        lies at    0 4 1 5 2 6 3      cell 0: 0 1 2, cell 1: 4 5 6, cell 2: 1 2 3

    Parameters
    ----------
    rows : ndarray of shape (n, 2), int64
        The rows of the image that windows reach: where each begins there and here.
    stretches : ndarray of shape (n, 3), int64
        The parts of such a row: where each begins there and here, and its length.
    starts : ndarray of shape (rows of windows,), int64
        Where each row of windows begins here.
    cells : ndarray of shape (cells of the kernel,), int64
        How far behind that each cell of the kernel begins, cells counted row by row.
    n_places : int
        How many places there are here. All numbers above count places.
    """

    rows: Table
    stretches: Table
    starts: Table
    cells: Table
    n_places: int


@lru_cache(maxsize=256)
def halo(window: Window) -> Halo:
    """Return where an image lies under a window."""
    *leading, last = window.axes
    behind = (last.kernel - 1) * last.dilation
    columns = behind // last.stride + last.out
    pitch = last.stride * columns

    def lies_at(place: int) -> int:
        return place % last.stride * columns + place // last.stride

    here = [axis.span for axis in leading]
    there = [axis.size for axis in leading]
    inside = list(itertools.product(*map(_inside, leading)))
    rows = [
        (_index(row, there) * last.size, _index(_moved(row, leading), here) * pitch)
        for row in inside
    ]
    starts = [
        _index([at * axis.stride for at, axis in zip(row, leading, strict=True)], here)
        for row in np.ndindex(*(axis.out for axis in leading))
    ]
    cells = [
        _index([k * axis.dilation for k, axis in zip(row, leading, strict=True)], here)
        * pitch
        + lies_at(k * last.dilation)
        for row in np.ndindex(*(axis.kernel for axis in leading))
        for k in range(last.kernel)
    ]
    places = [(place, lies_at(place + last.before)) for place in _inside(last)]
    return Halo(
        np.array(rows, np.int64).reshape(-1, 2),
        np.array(_joined(places), np.int64).reshape(-1, 3),
        np.array(starts, np.int64) * pitch,
        np.array(cells, np.int64),
        int(np.prod(here, dtype=np.int64)) * pitch,
    )


def _inside(axis: WindowAxis) -> range:
    """Return the places of an axis that lie between the first and the last window."""
    return range(max(0, -axis.before), axis.kept)


def _moved(row: Iterable[int], axes: Iterable[WindowAxis]) -> list[int]:
    return [at + axis.before for at, axis in zip(row, axes, strict=True)]


def _index(place: Iterable[int], sizes: Iterable[int]) -> int:
    """Return the number of a place, counted row by row."""
    index = 0
    for at, size in zip(place, sizes, strict=True):
        index = index * size + at
    return index


def _joined(pairs: Iterable[tuple[int, int]]) -> list[list[int]]:
    """Return pairs that follow each other on both sides as one stretch."""
    found: list[list[int]] = []
    for there, here in pairs:
        if found:
            first, second, count = found[-1]
            if (there, here) == (first + count, second + count):
                found[-1][2] += 1
                continue
        found.append([there, here, 1])
    return found
