"""The three products as loop nests, for windows and channels of known sizes.

In (batch, *axes, channels) the numbers under one line of a kernel lie side by side, so
that nothing is gathered: a line of the kernel is one long sum. For images::

    windows to places              windows by places             places to windows
    for each image                 for each image                for each image
      for each place (y, x):         for each kernel line (i):     for each (y, i, x):
        tile of places                 tile of (j, c) x o            tile of x x (j, c)
        sum over i, (j, c)             sum over places (y, x)        sum over o

The third adds what overlaps in memory. Where windows move by 1 it can also be the first
one with a turned kernel, on an image with wide borders: what costs less is taken.

An image with padding is copied into scratch with zeros around it, one image at a time,
so that it is read from a near cache.
"""

import functools
import math
from dataclasses import dataclass, replace

import numpy as np

from daskdl.kernels.tiles.blocking import contraction_cost
from daskdl.kernels.tiles.machine import VectorUnit, vector_unit
from daskdl.kernels.tiles.nest import (
    Argument,
    Axis,
    Contraction,
    Copy,
    Program,
    joined,
)
from daskdl.kernels.window import Window, WindowAxis

# The order of the arguments of all programs here.
UNDER, MATRIX, PLACES, BIAS, ROOM = range(5)
N_ARGUMENTS = 5

# As much of the places as stays near while all tiles of the weights go by.
_NEAR_BYTES = 64 * 1024


@dataclass(frozen=True)
class Geometry:
    """A window with the channels of both sides.

    Parameters
    ----------
    window : Window
        Sizes, padding, strides.
    n_under, n_place : int
        Channels under the window, and of a place.
    dtype : str
        ``"float32"`` or ``"float64"``.
    """

    window: Window
    n_under: int
    n_place: int
    dtype: str

    @property
    def kernel(self) -> tuple[int, ...]:
        """Cells of the kernel along each axis."""
        return tuple(axis.kernel for axis in self.window.axes)

    @property
    def image(self) -> tuple[int, ...]:
        """Sizes of an image."""
        return tuple(axis.size for axis in self.window.axes)

    @property
    def room(self) -> tuple[int, ...]:
        """Sizes of what the windows slide over: the image, or it with its padding."""
        if self.window.is_padded:
            return tuple(axis.span for axis in self.window.axes)
        return self.image

    @property
    def room_size(self) -> int:
        """Numbers of scratch for one padded image; 0 where there is no padding."""
        return math.prod(self.room) * self.n_under if self.window.is_padded else 0


@functools.lru_cache(maxsize=1024)
def windows_to_places(geometry: Geometry, columns: int, *, has_bias: bool) -> Program:
    """Return the program that multiplies every window by some columns of the weights.

    Reads UNDER, MATRIX (window.n_cells * n_under, columns) and, if `has_bias`, BIAS;
    writes `columns` of PLACES; uses ROOM.
    """
    under = _strides(geometry.room, geometry.n_under)
    places = _strides(geometry.window.out, geometry.n_place)
    rows, loops = _rows_of(
        [
            Axis(axis.out, a=stride * axis.stride, c=place)
            for axis, stride, place in zip(
                geometry.window.axes, under, places, strict=True
            )
        ]
    )
    sums = _kernel_sums(geometry, under, columns)
    product = Contraction(
        _under(geometry),
        Argument(MATRIX),
        Argument(PLACES, step=_size(geometry.window.out, geometry.n_place)),
        rows,
        columns,
        sums,
        loops,
        "bias" if has_bias else "zero",
        Argument(BIAS) if has_bias else None,
    )
    return Program(geometry.dtype, N_ARGUMENTS, (*_filled_room(geometry), product))


@functools.lru_cache(maxsize=1024)
def windows_by_places(geometry: Geometry, columns: int) -> Program:
    """Return the program that adds windows by places to `columns` of the weights.

    Reads UNDER and PLACES; adds to MATRIX; uses ROOM.
    """
    under = _strides(geometry.room, geometry.n_under)
    places = _strides(geometry.window.out, geometry.n_place)
    cells = _strides(geometry.kernel, geometry.n_under * geometry.n_place)
    axes = geometry.window.axes
    *lines, last = (
        Axis(axis.kernel, a=stride * axis.dilation, c=cell)
        for axis, stride, cell in zip(axes, under, cells, strict=True)
    )
    channels = Axis(geometry.n_under, a=1, c=geometry.n_place)
    rows, loops = _rows_of([*lines, *joined_or_one((last, channels))])
    sums = joined(
        tuple(
            Axis(axis.out, a=stride * axis.stride, b=place)
            for axis, stride, place in zip(axes, under, places, strict=True)
        )
    )
    product = Contraction(
        _under(geometry),
        Argument(PLACES, step=_size(geometry.window.out, geometry.n_place)),
        Argument(MATRIX),
        rows,
        columns,
        sums or (Axis(1),),
        loops,
        "sum",
    )
    stretches, near = _split(product, geometry.dtype)
    product = replace(product, sums=near, loops=(stretches, *product.loops))
    return Program(geometry.dtype, N_ARGUMENTS, (*_filled_room(geometry), product))


def turns_kernel(geometry: Geometry, unit: VectorUnit | None = None) -> bool:
    """Return whether :func:`turned_to_windows` costs less for this window."""
    if not _can_turn(geometry):
        return False
    unit = unit or vector_unit()
    lanes = unit.lanes(geometry.dtype)
    image, out, kernel = geometry.image, geometry.window.out, geometry.kernel
    of_image = (math.prod(image[:-1]), image[-1])
    turned = contraction_cost(
        unit, lanes, of_image, geometry.n_under, math.prod(kernel) * geometry.n_place
    )
    of_places = (math.prod(out[:-1]), out[-1])
    added = math.prod(kernel[:-1]) * contraction_cost(
        unit, lanes, of_places, kernel[-1] * geometry.n_under, geometry.n_place
    )
    return turned < added


@functools.lru_cache(maxsize=1024)
def turned_to_windows(geometry: Geometry, columns: int) -> Program:
    """Return the program that slides the turned kernel over places with borders.

    Reads PLACES and MATRIX (turned kernel cells, n_place, columns); writes `columns`
    channels of UNDER; uses ROOM.
    """
    sizes = _turned_sizes(geometry)
    room = _strides(sizes, geometry.n_place)
    places = _strides(geometry.window.out, geometry.n_place)
    image = _strides(geometry.image, geometry.n_under)
    axes = geometry.window.axes
    borders = [(axis.kernel - 1) * axis.dilation - axis.before for axis in axes]
    counts = [
        min(axis.out, size - border)
        for axis, size, border in zip(axes, sizes, borders, strict=True)
    ]
    into = sum(border * step for border, step in zip(borders, room, strict=True))
    fill = Copy(
        Argument(ROOM, into),
        counts[-1] * geometry.n_place,
        tuple(
            Axis(count, a=place, c=step)
            for count, place, step in zip(counts[:-1], places, room, strict=False)
        ),
        Argument(PLACES, step=_size(geometry.window.out, geometry.n_place)),
    )
    rows, loops = _rows_of(
        [
            Axis(axis.size, a=step, c=stride)
            for axis, step, stride in zip(axes, room, image, strict=True)
        ]
    )
    cells = _strides(geometry.kernel, geometry.n_place * columns)
    sums = [
        Axis(axis.kernel, a=step * axis.dilation, b=cell)
        for axis, step, cell in zip(axes, room, cells, strict=True)
    ]
    product = Contraction(
        Argument(ROOM),
        Argument(MATRIX),
        Argument(UNDER, step=_size(geometry.image, geometry.n_under)),
        rows,
        columns,
        joined((*sums, Axis(geometry.n_place, a=1, b=columns))) or (Axis(1),),
        loops,
    )
    return Program(geometry.dtype, N_ARGUMENTS, (fill, product))


@functools.lru_cache(maxsize=1024)
def places_to_windows(geometry: Geometry) -> Program:
    """Return the program that adds up what every place sends to its window.

    Reads PLACES and MATRIX (kernel lines, n_place, cells of a line x n_under), a line
    being a cell where the last axis is dilated; writes UNDER; uses ROOM.
    """
    under = _strides(geometry.room, geometry.n_under)
    places = _strides(geometry.window.out, geometry.n_place)
    axes = geometry.window.axes
    kernel = geometry.kernel
    columns = geometry.n_under * (kernel[-1] if axes[-1].dilation == 1 else 1)
    lines = kernel if axes[-1].dilation != 1 else kernel[:-1]
    steps = _strides(lines, geometry.n_place * columns)
    kernel_loops = tuple(
        Axis(size, b=step, c=stride * axis.dilation)
        for size, step, stride, axis in zip(lines, steps, under, axes, strict=False)
    )
    rows, loops = _rows_of(
        [
            Axis(axis.out, a=place, c=stride * axis.stride)
            for axis, stride, place in zip(axes, under, places, strict=True)
        ]
    )
    step = _size(geometry.image, geometry.n_under)
    target = _under(geometry)
    zeros = Copy(target, _size(geometry.room, geometry.n_under))
    product = Contraction(
        Argument(PLACES, step=_size(geometry.window.out, geometry.n_place)),
        Argument(MATRIX),
        target,
        rows,
        columns,
        (Axis(geometry.n_place, a=1, b=columns),),
        (*loops, *joined(kernel_loops)),
        "sum",
    )
    if not geometry.window.is_padded:
        return Program(geometry.dtype, N_ARGUMENTS, (zeros, product))
    outside = Copy(Argument(UNDER, step=step), step)
    statements = (zeros, product, outside, _emptied_room(geometry))
    return Program(geometry.dtype, N_ARGUMENTS, statements)


def turned_room(geometry: Geometry) -> int:
    """Return the numbers of scratch that a turned kernel slides over."""
    return math.prod(_turned_sizes(geometry)) * geometry.n_place


def _can_turn(geometry: Geometry) -> bool:
    return all(
        axis.stride == 1 and axis.before <= (axis.kernel - 1) * axis.dilation
        for axis in geometry.window.axes
    )


def _turned_sizes(geometry: Geometry) -> tuple[int, ...]:
    return tuple(
        axis.size + (axis.kernel - 1) * axis.dilation for axis in geometry.window.axes
    )


def _kernel_sums(
    geometry: Geometry, under: tuple[int, ...], columns: int
) -> tuple[Axis, ...]:
    cells = _strides(geometry.kernel, geometry.n_under * columns)
    axes = [
        Axis(axis.kernel, a=stride * axis.dilation, b=cell)
        for axis, stride, cell in zip(geometry.window.axes, under, cells, strict=True)
    ]
    channels = Axis(geometry.n_under, a=1, b=columns)
    return joined((*axes, channels)) or (Axis(1),)


def _split(product: Contraction, dtype: str) -> tuple[Axis, tuple[Axis, ...]]:
    """Cut the slowest sum into stretches whose rows of B stay near; return both."""
    slowest, *rest = product.sums
    width = min(product.columns * np.dtype(dtype).itemsize, 2 * vector_unit().width)
    others = math.prod(axis.size for axis in rest)
    most = min(slowest.size, max(1, _NEAR_BYTES // (others * width)))
    size = max(n for n in range(1, most + 1) if slowest.size % n == 0)
    stretches = Axis(slowest.size // size, a=slowest.a * size, b=slowest.b * size)
    near = joined((replace(slowest, size=size), *rest))
    return stretches, near or (Axis(1),)


def _rows_of(axes: list[Axis]) -> tuple[tuple[Axis, Axis], tuple[Axis, ...]]:
    """Return the last two axes as rows, and the others as loops."""
    *loops, down, across = (Axis(1), Axis(1), *axes)
    return (down, across), tuple(axis for axis in loops if axis.size > 1)


def joined_or_one(axes: tuple[Axis, ...]) -> tuple[Axis, ...]:
    """Return the axes joined; at least one."""
    return joined(axes) or (Axis(1),)


def _under(geometry: Geometry) -> Argument:
    """Return what the windows slide over."""
    if geometry.window.is_padded:
        return Argument(ROOM)
    return Argument(UNDER, step=_size(geometry.image, geometry.n_under))


def _filled_room(geometry: Geometry) -> tuple[Copy, ...]:
    """Return the copy of an image into the room with zeros around it, if needed."""
    if not geometry.window.is_padded:
        return ()
    loops, run, into = _interior(geometry)
    image = Argument(UNDER, step=_size(geometry.image, geometry.n_under))
    return (Copy(Argument(ROOM, into), run, loops, image),)


def _emptied_room(geometry: Geometry) -> Copy:
    """Return the copy of the room's interior to an image."""
    loops, run, into = _interior(geometry)
    image = Argument(UNDER, step=_size(geometry.image, geometry.n_under))
    back = tuple(Axis(axis.size, a=axis.c, c=axis.a) for axis in loops)
    return Copy(image, run, back, Argument(ROOM, into))


def _interior(geometry: Geometry) -> tuple[tuple[Axis, ...], int, int]:
    """Return loops over the lines of the image, their length, and where it begins."""
    image = _strides(geometry.image, geometry.n_under)
    room = _strides(geometry.room, geometry.n_under)
    axes: tuple[WindowAxis, ...] = geometry.window.axes
    into = sum(axis.before * step for axis, step in zip(axes, room, strict=True))
    loops = tuple(
        Axis(axis.kept, a=near, c=far)
        for axis, near, far in zip(axes[:-1], image, room, strict=False)
    )
    return loops, axes[-1].kept * geometry.n_under, into


def _strides(sizes: tuple[int, ...], inner: int) -> tuple[int, ...]:
    return tuple(math.prod(sizes[index + 1 :]) * inner for index in range(len(sizes)))


def _size(sizes: tuple[int, ...], channels: int) -> int:
    return math.prod(sizes) * channels
