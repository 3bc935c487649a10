"""The arrays of a depthwise convolution as programs see them, with zeros around."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from daskdl.kernels.depthwise.geometry import (
    Geometry,
    RoomAxis,
    room_of_input,
    room_of_places,
)
from daskdl.kernels.tiles.nest import Argument, Axis, Copy
from daskdl.kernels.window_products.geometry import strides

# The numbers of the arguments. Places are the output, or the gradient in it.
N_ARGUMENTS = 7
IMAGES, WEIGHTS, BIAS, PLACES, GRAD_IMAGES, SUMS, ROOM = range(N_ARGUMENTS)
# Numbers that begin here begin a line of the cache.
_ALIGNED = 16


@dataclass(frozen=True)
class Source:
    """An array, or scratch with one example of it between zeros.

    Parameters
    ----------
    argument : Argument
        Where an example begins.
    strides : tuple of int
        Along the axes of the window.
    of_kernel : int
        From the channels of one kernel to those of the next one, where they lie apart.
    fill : tuple of Copy
        What brings an example to the scratch.
    end : int
        Where its part of the scratch ends.
    """

    argument: Argument
    strides: tuple[int, ...]
    of_kernel: int = 0
    fill: tuple[Copy, ...] = ()
    end: int = 0

    def at(self, indices: Sequence[int]) -> Argument:
        """Return where a place of an example lies; it may be among the zeros."""
        return replace(
            self.argument, offset=self.argument.offset + offset(indices, self.strides)
        )


def offset(indices: Sequence[int], strides: Sequence[int]) -> int:
    """Return how far away a place is."""
    return sum(at * step for at, step in zip(indices, strides, strict=True))


def images(geometry: Geometry, number: int = IMAGES) -> Source:
    """Return the images, or the gradient in them."""
    sizes, n = geometry.image, geometry.n_in
    return Source(Argument(number, step=math.prod(sizes) * n), strides(sizes, n))


def places(geometry: Geometry) -> Source:
    """Return the output, or the gradient in it."""
    sizes, n = geometry.window.out, geometry.n_out
    return Source(Argument(PLACES, step=math.prod(sizes) * n), strides(sizes, n))


def images_between_zeros(geometry: Geometry) -> Source:
    """Return the images with each channel as often as it has kernels."""
    multiplier = geometry.multiplier
    room = [room_of_input(axis) for axis in geometry.window.axes]
    numbers = room[-1].kept * geometry.n_in
    one_by_one = (Axis(numbers, a=1, c=multiplier), Axis(multiplier, c=1))
    steps = _steps(geometry, room, geometry.n_out)
    return _between_zeros(geometry, images(geometry), room, steps, one_by_one)


def places_between_zeros(geometry: Geometry, begin: int) -> Source:
    """Return the places, in each line all channels of one kernel before the next's.

    Their part of the scratch begins where another one ends.
    """
    multiplier, n = geometry.multiplier, geometry.n_in
    room = [room_of_places(axis) for axis in geometry.window.axes]
    numbers, apart = room[-1].kept * n, room[-1].size * n
    one_by_one = (Axis(multiplier, a=1, c=apart), Axis(numbers, a=multiplier, c=1))
    steps = _steps(geometry, room, n)
    source = _between_zeros(geometry, places(geometry), room, steps, one_by_one, begin)
    return replace(source, of_kernel=apart)


def _steps(geometry: Geometry, room: Sequence[RoomAxis], last: int) -> tuple[int, ...]:
    """Return the strides of scratch; channels with several kernels lie in any order."""
    sizes = tuple(axis.size for axis in room)
    return (*strides(sizes, geometry.n_out)[:-1], last)


def _between_zeros(
    geometry: Geometry,
    source: Source,
    room: Sequence[RoomAxis],
    steps: tuple[int, ...],
    one_by_one: tuple[Axis, ...],
    begin: int = 0,
) -> Source:
    """Return a copy of a source, or the source itself where that will do.

    The loops are along a line, whose numbers are copied one by one where channels have
    several kernels.
    """
    has_one = geometry.multiplier == 1
    if has_one and all(axis.kept == axis.size for axis in room):
        return replace(source, end=begin)
    begin = -(-begin // _ALIGNED) * _ALIGNED
    first = begin + offset([axis.front for axis in room], steps)
    argument = Argument(ROOM, first)
    lines = tuple(
        Axis(axis.kept, a=near, c=far)
        for axis, near, far in zip(room[:-1], source.strides, steps, strict=False)
    )
    if has_one:
        run = room[-1].kept * geometry.n_in
        fill = Copy(argument, run, lines, source.argument)
    else:
        fill = Copy(argument, 1, (*lines, *one_by_one), source.argument)
    size = math.prod(axis.size for axis in room) * geometry.n_out
    return Source(argument, steps, fill=(fill,), end=begin + size)
