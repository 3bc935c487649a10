"""Where the cells of a kernel go: along each axis, and in boxes of an example."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from daskdl.kernels.window import Window, WindowAxis

Range = tuple[int, int]
Box = tuple[Range, ...]


@dataclass(frozen=True)
class Geometry:
    """A window with its channels.

    Parameters
    ----------
    window : Window
        Sizes, padding, strides.
    n_in, multiplier : int
        Channels that come in, and kernels of each.
    dtype : str
        ``"float32"`` or ``"float64"``.
    """

    window: Window
    n_in: int
    multiplier: int
    dtype: str

    @property
    def n_out(self) -> int:
        """Channels that come out."""
        return self.n_in * self.multiplier


@dataclass(frozen=True)
class Walk:
    """A walk of kernel cells along an axis.

    In turn t, cell k reads place ``start + t * step + k * cell``, where a place outside
    of the axis holds 0.

    Parameters
    ----------
    start, step, cell : int
        As above; start and cell may be negative.
    count, n_cells : int
        How many turns and cells there are.
    """

    start: int
    step: int
    cell: int
    count: int
    n_cells: int

    def read(self, turns: Range) -> Range:
        """Return the first place that some turns read, and the one behind the last."""
        first, stop = turns
        reach = self.cell * (self.n_cells - 1)
        lowest = self.start + first * self.step + min(0, reach)
        highest = self.start + (stop - 1) * self.step + max(0, reach)
        return lowest, highest + 1

    def inside(self, size: int) -> Range:
        """Return the turns that read nothing outside of an axis of this size."""
        lowest, behind = self.read((0, 1))
        first = min(self.count, max(0, -(lowest // self.step)))
        stop = min(self.count, (size - behind) // self.step + 1)
        return first, max(first, stop)


@dataclass(frozen=True)
class Phase:
    """Every stride-th cell of the input along an axis.

    Parameters
    ----------
    first : int
        The first of these cells.
    kernel, step : int
        The first kernel cell that they lie under, and how far it is to the next one.
    walk : Walk
        Of these kernel cells over the windows; each turn is a cell of the input.
    """

    first: int
    kernel: int
    step: int
    walk: Walk


def over_input(axis: WindowAxis) -> Walk:
    """Return the walk of a kernel over the input; each turn is a window."""
    return Walk(-axis.before, axis.stride, axis.dilation, axis.out, axis.kernel)


def phases(axis: WindowAxis) -> list[Phase]:
    """Return the cells of an axis by their remainder by the stride."""
    step = axis.stride // math.gcd(axis.stride, axis.dilation)
    found = []
    for first in range(min(axis.stride, axis.size)):
        here = first + axis.before
        cells = [
            k
            for k in range(axis.kernel)
            if (here - k * axis.dilation) % axis.stride == 0
        ]
        kernel = cells[0] if cells else 0
        walk = Walk(
            (here - kernel * axis.dilation) // axis.stride,
            1,
            -step * axis.dilation // axis.stride,
            -(-(axis.size - first) // axis.stride),
            len(cells),
        )
        found.append(Phase(first, kernel, step, walk))
    return found


def whole(walks: Sequence[Walk]) -> Box:
    """Return all turns."""
    return tuple((0, walk.count) for walk in walks)


def boxes(walks: Sequence[Walk], sizes: Sequence[int]) -> list[Box]:
    """Cut turns into those that read nothing outside, and slabs around them."""
    every = whole(walks)
    inner = tuple(walk.inside(size) for walk, size in zip(walks, sizes, strict=True))
    found = [inner]
    for n, ((first, stop), (_, count)) in enumerate(zip(inner, every, strict=True)):
        sides = ((0, first), (stop, count))
        found += [(*inner[:n], side, *every[n + 1 :]) for side in sides]
    return [box for box in found if all(first < stop for first, stop in box)]


def places_read(walks: Sequence[Walk], box: Box) -> Box:
    """Return the places that the turns of a box read along each axis."""
    return tuple(walk.read(turns) for walk, turns in zip(walks, box, strict=True))


def around(read: Sequence[Box]) -> Box:
    """Return the smallest box that holds all of some."""
    return tuple(
        (min(first for first, _ in axis), max(stop for _, stop in axis))
        for axis in zip(*read, strict=True)
    )


def volume(box: Box) -> int:
    """Return how many places there are in a box."""
    return math.prod(stop - first for first, stop in box)


def is_inside(box: Box, sizes: Sequence[int]) -> bool:
    """Return whether a box is part of an example of these sizes."""
    return all(
        first >= 0 and stop <= size
        for (first, stop), size in zip(box, sizes, strict=True)
    )
