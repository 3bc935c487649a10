"""The three products as statements of a program.

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

import math
from dataclasses import dataclass, replace

import numpy as np

from daskdl.kernels.tiles.machine import vector_unit
from daskdl.kernels.tiles.nest import Argument, Axis, Contraction, Copy, joined
from daskdl.kernels.window_products.geometry import Geometry, strides

# As much of the places as stays near while all tiles of the weights go by.
_NEAR_BYTES = 64 * 1024


@dataclass(frozen=True)
class Where:
    """The numbers of the arguments that hold the arrays of a product.

    Parameters
    ----------
    under, matrix, places, bias, room : int
        Images, weights, places, bias, and scratch for one image with its borders.
    planes, apart : int
        Scratch for what is done apart; see :mod:`.apart`.
    passing : bool
        Whether the places of one image only are there at a time.
    """

    under: int = 0
    matrix: int = 1
    places: int = 2
    bias: int = 3
    room: int = 4
    planes: int = 5
    apart: int = 6
    passing: bool = False

    def places_of(self, geometry: Geometry) -> Argument:
        """Return the places of an example."""
        step = 0 if self.passing else geometry.places_size
        return Argument(self.places, step=step)

    def image_of(self, geometry: Geometry) -> Argument:
        """Return an image."""
        return Argument(self.under, step=geometry.image_size)

    def under_of(self, geometry: Geometry) -> Argument:
        """Return what the windows slide over."""
        if geometry.window.is_padded:
            return Argument(self.room)
        return self.image_of(geometry)


def windows_to_places(
    geometry: Geometry,
    where: Where,
    columns: int,
    *,
    has_bias: bool,
    rectifies: bool = False,
) -> tuple[Copy | Contraction, ...]:
    """Multiply every window by some columns of the weights, and rectify if asked.

    Reads images, weights (window.n_cells * n_under, columns) and, if `has_bias`, the
    bias; writes `columns` of the places.
    """
    axes, under = geometry.window.axes, geometry.under_strides
    rows, loops = _rows_of(
        [
            Axis(axis.out, a=stride * axis.stride, c=place)
            for axis, stride, place in zip(
                axes, under, geometry.place_strides, strict=True
            )
        ]
    )
    cells = strides(geometry.window.kernel, geometry.n_under * columns)
    sums = [
        Axis(axis.kernel, a=stride * axis.dilation, b=cell)
        for axis, stride, cell in zip(axes, under, cells, strict=True)
    ]
    product = Contraction(
        where.under_of(geometry),
        Argument(where.matrix),
        where.places_of(geometry),
        rows,
        columns,
        _joined_or_one(*sums, Axis(geometry.n_under, a=1, b=columns)),
        loops,
        "bias" if has_bias else "zero",
        Argument(where.bias) if has_bias else None,
        rectifies,
    )
    return (*_filled_room(geometry, where), product)


def windows_by_places(
    geometry: Geometry, where: Where, columns: int
) -> tuple[Copy | Contraction, ...]:
    """Add windows by places to `columns` of the weights' gradient.

    Reads images and places.
    """
    axes, under = geometry.window.axes, geometry.under_strides
    cells = strides(geometry.window.kernel, geometry.n_under * geometry.n_place)
    *lines, last = (
        Axis(axis.kernel, a=stride * axis.dilation, c=cell)
        for axis, stride, cell in zip(axes, under, cells, strict=True)
    )
    channels = Axis(geometry.n_under, a=1, c=geometry.n_place)
    rows, loops = _rows_of([*lines, *_joined_or_one(last, channels)])
    sums = [
        Axis(axis.out, a=stride * axis.stride, b=place)
        for axis, stride, place in zip(axes, under, geometry.place_strides, strict=True)
    ]
    product = Contraction(
        where.under_of(geometry),
        where.places_of(geometry),
        Argument(where.matrix),
        rows,
        columns,
        _joined_or_one(*sums),
        loops,
        "sum",
    )
    stretches = _in_stretches(product, geometry.dtype)
    return (*_filled_room(geometry, where), *stretches)


def places_to_windows(
    geometry: Geometry, where: Where
) -> tuple[Copy | Contraction, ...]:
    """Add up what every place sends to its window.

    Reads places and weights (kernel lines, n_place, cells of a line x n_under), a line
    being a cell where the last axis is dilated; writes images.
    """
    axes, under = geometry.window.axes, geometry.under_strides
    is_dilated = axes[-1].dilation != 1
    lines = geometry.window.kernel if is_dilated else geometry.window.kernel[:-1]
    columns = geometry.n_under * (1 if is_dilated else geometry.window.kernel[-1])
    steps = strides(lines, geometry.n_place * columns)
    kernel_loops = [
        Axis(size, b=step, c=stride * axis.dilation)
        for size, step, stride, axis in zip(lines, steps, under, axes, strict=False)
    ]
    rows, loops = _rows_of(
        [
            Axis(axis.out, a=place, c=stride * axis.stride)
            for axis, stride, place in zip(
                axes, under, geometry.place_strides, strict=True
            )
        ]
    )
    # The rows of a tile lie below each other: what neighbours in a line send overlaps,
    # and a register that was stored in part is slow to load again.
    down, across = rows
    target = where.under_of(geometry)
    zeros = Copy(target, math.prod(geometry.room) * geometry.n_under)
    product = Contraction(
        where.places_of(geometry),
        Argument(where.matrix),
        target,
        (across, down),
        columns,
        (Axis(geometry.n_place, a=1, b=columns),),
        (*loops, *joined(tuple(kernel_loops))),
        "sum",
    )
    if not geometry.window.is_padded:
        return (zeros, product)
    outside = Copy(where.image_of(geometry), geometry.image_size)
    return (zeros, product, outside, _emptied_room(geometry, where))


def turned_to_windows(
    geometry: Geometry, where: Where, columns: int
) -> tuple[Copy | Contraction, ...]:
    """Slide the turned kernel over places with borders.

    Reads places and weights (turned kernel cells, n_place, columns); writes `columns`
    channels of the images.
    """
    axes = geometry.window.axes
    sizes = turned_sizes(geometry)
    room = strides(sizes, geometry.n_place)
    borders = [(axis.kernel - 1) * axis.dilation - axis.before for axis in axes]
    counts = [
        min(axis.out, size - border)
        for axis, size, border in zip(axes, sizes, borders, strict=True)
    ]
    into = sum(border * step for border, step in zip(borders, room, strict=True))
    fill = Copy(
        Argument(where.room, into),
        counts[-1] * geometry.n_place,
        tuple(
            Axis(count, a=place, c=step)
            for count, place, step in zip(
                counts[:-1], geometry.place_strides, room, strict=False
            )
        ),
        where.places_of(geometry),
    )
    rows, loops = _rows_of(
        [
            Axis(axis.size, a=step, c=stride)
            for axis, step, stride in zip(
                axes,
                room,
                strides(geometry.window.sizes, geometry.n_under),
                strict=True,
            )
        ]
    )
    cells = strides(geometry.window.kernel, geometry.n_place * columns)
    sums = [
        Axis(axis.kernel, a=step * axis.dilation, b=cell)
        for axis, step, cell in zip(axes, room, cells, strict=True)
    ]
    product = Contraction(
        Argument(where.room),
        Argument(where.matrix),
        where.image_of(geometry),
        rows,
        columns,
        _joined_or_one(*sums, Axis(geometry.n_place, a=1, b=columns)),
        loops,
    )
    return (fill, product)


def turned_sizes(geometry: Geometry) -> tuple[int, ...]:
    """Return the sizes of places with the borders that a turned kernel needs."""
    return tuple(
        axis.size + (axis.kernel - 1) * axis.dilation for axis in geometry.window.axes
    )


def _in_stretches(product: Contraction, dtype: str) -> tuple[Contraction, ...]:
    """Cut the slowest sum so that rows of B stay near while all tiles of C go by."""
    slowest, *rest = product.sums
    width = min(product.columns * np.dtype(dtype).itemsize, 2 * vector_unit().width)
    others = math.prod(axis.size for axis in rest)
    size = min(slowest.size, max(1, _NEAR_BYTES // (others * width)))
    n, left = divmod(slowest.size, size)
    stretch = Axis(n, a=slowest.a * size, b=slowest.b * size)
    whole = replace(
        product,
        sums=_joined_or_one(replace(slowest, size=size), *rest),
        loops=(stretch, *product.loops),
    )
    if not left:
        return (whole,)
    last = replace(
        product,
        a=_shifted(product.a, n * stretch.a),
        b=_shifted(product.b, n * stretch.b),
        sums=_joined_or_one(replace(slowest, size=left), *rest),
    )
    return (whole, last)


def _shifted(argument: Argument, by: int) -> Argument:
    return replace(argument, offset=argument.offset + by)


def _rows_of(axes: list[Axis]) -> tuple[tuple[Axis, Axis], tuple[Axis, ...]]:
    """Return the last two axes as rows, and the others as loops."""
    *loops, down, across = (Axis(1), Axis(1), *axes)
    return (down, across), tuple(axis for axis in loops if axis.size > 1)


def _joined_or_one(*axes: Axis) -> tuple[Axis, ...]:
    return joined(axes) or (Axis(1),)


def _filled_room(geometry: Geometry, where: Where) -> tuple[Copy, ...]:
    """Return the copy of an image into the room with zeros around it, if needed."""
    if not geometry.window.is_padded:
        return ()
    loops, run, into = _interior(geometry)
    image = where.image_of(geometry)
    return (Copy(Argument(where.room, into), run, loops, image),)


def _emptied_room(geometry: Geometry, where: Where) -> Copy:
    """Return the copy of the room's interior to an image."""
    loops, run, into = _interior(geometry)
    back = tuple(Axis(axis.size, a=axis.c, c=axis.a) for axis in loops)
    return Copy(where.image_of(geometry), run, back, Argument(where.room, into))


def _interior(geometry: Geometry) -> tuple[tuple[Axis, ...], int, int]:
    """Return loops over the lines of the image, their length, and where it begins."""
    axes, room = geometry.window.axes, geometry.under_strides
    image = strides(geometry.window.sizes, geometry.n_under)
    into = sum(axis.before * step for axis, step in zip(axes, room, strict=True))
    loops = tuple(
        Axis(axis.kept, a=near, c=far)
        for axis, near, far in zip(axes[:-1], image, room, strict=False)
    )
    return loops, axes[-1].kept * geometry.n_under, into
