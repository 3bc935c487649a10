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
class Slide:
    """How the cells of a kernel slide along an axis.

    In position t, cell k reads index ``start + t * step + k * cell``; what is outside
    of the axis is 0.

    Parameters
    ----------
    start, step, cell : int
        As above; start and cell may be negative.
    count, n_cells : int
        How many positions and cells there are.
    """

    start: int
    step: int
    cell: int
    count: int
    n_cells: int

    def read(self, positions: Range) -> Range:
        """Return the first index that positions read, and the one behind the last."""
        first, stop = positions
        reach = self.cell * (self.n_cells - 1)
        lowest = self.start + first * self.step + min(0, reach)
        highest = self.start + (stop - 1) * self.step + max(0, reach)
        return lowest, highest + 1

    def inside(self, size: int) -> Range:
        """Return the positions that read nothing outside of an axis of this size."""
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
    slide : Slide
        Of these kernel cells over the windows; each position is a cell of the input.
    """

    first: int
    kernel: int
    step: int
    slide: Slide


def over_input(axis: WindowAxis) -> Slide:
    """Return how a kernel slides over the input; each position is a window."""
    return Slide(-axis.before, axis.stride, axis.dilation, axis.out, axis.kernel)


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
        slide = Slide(
            (here - kernel * axis.dilation) // axis.stride,
            1,
            -step * axis.dilation // axis.stride,
            -(-(axis.size - first) // axis.stride),
            len(cells),
        )
        found.append(Phase(first, kernel, step, slide))
    return found


def whole(slides: Sequence[Slide]) -> Box:
    """Return all positions."""
    return tuple((0, slide.count) for slide in slides)


def boxes(slides: Sequence[Slide], sizes: Sequence[int]) -> list[Box]:
    """Cut positions into those that read nothing outside, and slabs around them."""
    every = whole(slides)
    inner = tuple(slide.inside(size) for slide, size in zip(slides, sizes, strict=True))
    found = [inner]
    for n, ((first, stop), (_, count)) in enumerate(zip(inner, every, strict=True)):
        sides = ((0, first), (stop, count))
        found += [(*inner[:n], side, *every[n + 1 :]) for side in sides]
    return [box for box in found if all(first < stop for first, stop in box)]


def indices_read(slides: Sequence[Slide], box: Box) -> Box:
    """Return the indices that the positions of a box read along each axis."""
    return tuple(slide.read(each) for slide, each in zip(slides, box, strict=True))


def around(read: Sequence[Box]) -> Box:
    """Return the smallest box that holds all of some."""
    return tuple(
        (min(first for first, _ in axis), max(stop for _, stop in axis))
        for axis in zip(*read, strict=True)
    )


def volume(box: Box) -> int:
    """Return how many positions there are in a box."""
    return math.prod(stop - first for first, stop in box)


def is_inside(box: Box, sizes: Sequence[int]) -> bool:
    """Return whether a box is part of an example of these sizes."""
    return all(
        first >= 0 and stop <= size
        for (first, stop), size in zip(box, sizes, strict=True)
    )
