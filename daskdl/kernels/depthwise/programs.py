"""The three passes of a depthwise convolution as programs of register tiles.

Every channel is a column, and a cell of the kernel a row of weights::

    forward                      gradient of the weights     gradient of the input
    for each image               for each image              for each image
      copy it between zeros        copy it between zeros       copy its places likewise
      for each line of places:     for each kernel line:       for each phase, line:
        tile of places               tile of kernel cells        tile of input cells
        sum over kernel cells        sum over places             sum over kernel cells

The cells of the input that lie under the same cells of the kernel are a phase: all of
them where windows move by 1, every second one where they move by 2. So each number of
the gradient is summed up in a register and written once.

Where the channels of a place fill vectors badly and windows move by 1, the columns are
all numbers of a line, and the weights are repeated for each of its places.

With several kernels a channel the image is copied to scratch with each channel as often
as it has kernels; the places are sorted by the number of the kernel, line by line.
"""

import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from daskdl.kernels.depthwise.geometry import Geometry, Phase, phases
from daskdl.kernels.depthwise.sources import (
    BIAS,
    WEIGHTS,
    Source,
    images,
    images_between_zeros,
    offset,
    places,
    places_between_zeros,
)
from daskdl.kernels.tiles.machine import vector_unit
from daskdl.kernels.tiles.nest import Argument, Axis, Columnwise, Copy, Program
from daskdl.kernels.window import WindowAxis
from daskdl.kernels.window_products.geometry import strides

_N_ARGUMENTS = 5
# Products whose sum stays in a register: with more of them it would lose digits.
_SUMMED = 1024
# The columns are those of a line where the channels fill less of their vectors.
_FILLED = 0.8
_ONCE = Axis(1)


@dataclass(frozen=True, eq=False)
class Pass:
    """A program, and what it takes besides arrays.

    Parameters
    ----------
    program : Program
        Its arguments are images, weights, places, bias and scratch.
    room_size : int
        Numbers of that scratch, which must be zeros; 0 where there is none.
    repeats : int
        How many copies of each row of weights, and of the bias, lie side by side.
    """

    program: Program
    room_size: int
    repeats: int


@dataclass(frozen=True)
class _Source:
    """What kernel cells are moved over: an array, or its copy between zeros."""

    argument: Argument
    strides: tuple[int, ...]
    fill: tuple[Copy, ...] = ()
    size: int = 0


@functools.lru_cache(maxsize=1024)
def forward(geometry: Geometry, *, has_bias: bool) -> Pass:
    """Return the pass that reads images, weights and bias, and writes places."""
    axes, source, target = _sides(geometry)
    repeats = _repeats(geometry, geometry.n_out, geometry.window.out[-1])
    columns = repeats * geometry.n_out
    cells = strides(geometry.kernel, columns)
    rows, sums, loops = _arranged(
        [
            Axis(axis.out, a=step * axis.stride, c=place)
            for axis, step, place in zip(
                axes, source.strides, target.strides, strict=True
            )
        ],
        [
            Axis(axis.kernel, a=step * axis.dilation, b=cell)
            for axis, step, cell in zip(axes, source.strides, cells, strict=True)
        ],
        repeats,
    )
    product = Columnwise(
        source.at([-axis.before for axis in axes]),
        Argument(WEIGHTS),
        target.argument,
        rows,
        columns,
        sums,
        loops,
        "bias" if has_bias else "zero",
        Argument(BIAS) if has_bias else None,
    )
    return _pass(geometry, source, [product], repeats)


@functools.lru_cache(maxsize=1024)
def of_weights(geometry: Geometry) -> Pass:
    """Return the pass that reads images and places, and adds to sums for the weights.

    Their rows are as long as those of repeated weights.
    """
    axes, source, target = _sides(geometry)
    repeats = _repeats(geometry, geometry.n_out, geometry.window.out[-1])
    columns = repeats * geometry.n_out
    cells = strides(geometry.kernel, columns)
    of_cells = [
        Axis(axis.kernel, a=step * axis.dilation, c=cell)
        for axis, step, cell in zip(axes, source.strides, cells, strict=True)
    ]
    sums = [
        Axis(axis.out, a=step * axis.stride, b=place)
        for axis, step, place in zip(axes, source.strides, target.strides, strict=True)
    ]
    if repeats > 1:
        # What is summed up fastest and the second axis of rows go together.
        of_cells = [*of_cells[:-2], *of_cells[:-3:-1]]
        sums = sums[:-1] or [_ONCE]
    rows, loops = _rows_of(of_cells)
    if math.prod(axis.size for axis in sums) > _SUMMED:
        loops, sums = (*loops, *sums[:-1]), sums[-1:]
    product = Columnwise(
        source.at([-axis.before for axis in axes]),
        target.argument,
        Argument(WEIGHTS),
        rows,
        columns,
        tuple(sums),
        loops,
        "sum",
    )
    return _pass(geometry, source, [product], repeats)


@functools.lru_cache(maxsize=1024)
def of_input(geometry: Geometry) -> Pass:
    """Return the pass that reads places and weights, and writes images.

    The weights are (*kernel, multiplier, n_in), the latter repeated.
    """
    source = places_between_zeros(geometry)
    repeats = _repeats(geometry, geometry.n_in, geometry.image[-1])
    statements = [
        _of_phase(geometry, phase, source, repeats)
        for phase in itertools.product(*map(phases, geometry.window.axes))
    ]
    return _pass(geometry, source, statements, repeats)


def _of_phase(
    geometry: Geometry, phase: Sequence[Phase], source: Source, repeats: int
) -> Columnwise | Copy:
    """Return what writes the cells of a phase."""
    target, columns = images(geometry), repeats * geometry.n_in
    cells = strides(geometry.kernel, geometry.multiplier * columns)
    rows = [
        Axis(each.count, a=step, c=near * axis.stride)
        for each, step, near, axis in zip(
            phase, source.strides, target.strides, geometry.window.axes, strict=True
        )
    ]
    first = target.at([each.first for each in phase])
    if not all(each.n_kernel for each in phase):
        return Copy(first, geometry.n_in, tuple(rows))
    sums = [
        Axis(each.n_kernel, a=-each.back * step, b=each.step * cell)
        for each, step, cell in zip(phase, source.strides, cells, strict=True)
    ]
    kernels = Axis(geometry.multiplier, a=source.of_kernel, b=columns)
    of_rows, of_sums, loops = _arranged(rows, [kernels, *sums], repeats)
    return Columnwise(
        source.at([each.window for each in phase]),
        Argument(WEIGHTS, offset([each.kernel for each in phase], cells)),
        first,
        of_rows,
        columns,
        of_sums,
        loops,
    )


def _sides(geometry: Geometry) -> tuple[tuple[WindowAxis, ...], Source, Source]:
    """Return the axes, images between zeros, and places."""
    return geometry.window.axes, images_between_zeros(geometry), places(geometry)


def _repeats(geometry: Geometry, channels: int, of_line: int) -> int:
    """Return how many places of a line are taken together."""
    lanes = vector_unit().lanes(geometry.dtype)
    filled = channels / (-(-channels // lanes) * lanes)
    if geometry.window.axes[-1].stride > 1 or filled >= _FILLED:
        return 1
    return of_line


def _arranged(
    rows: list[Axis], sums: list[Axis], repeats: int
) -> tuple[tuple[Axis, Axis], tuple[Axis, ...], tuple[Axis, ...]]:
    """Return rows, sums and loops; the last rows may be columns instead."""
    if repeats > 1:
        rows, sums = rows[:-1], [sums[-1], *sums[:-1]]
    pair, loops = _rows_of(rows)
    return pair, tuple(sums), loops


def _rows_of(axes: Sequence[Axis]) -> tuple[tuple[Axis, Axis], tuple[Axis, ...]]:
    """Return the last two axes as rows, and the others as loops."""
    *loops, down, across = (_ONCE, _ONCE, *axes)
    return (down, across), tuple(axis for axis in loops if axis.size > 1)


def _pass(
    geometry: Geometry,
    source: Source,
    statements: Sequence[Columnwise | Copy],
    repeats: int,
) -> Pass:
    program = Program(geometry.dtype, _N_ARGUMENTS, (*source.fill, *statements))
    return Pass(program, source.size, repeats)
