"""The passes of a depthwise convolution as programs of register tiles.

Every channel is a column, and a cell of the kernel a row of weights::

    forward                      backward
    for each image               for each image
      copy it between zeros        copy image and places between zeros
      for each line of places:     for each kernel line:      for each phase, line:
        tile of places               tile of kernel cells       tile of input cells
        sum over kernel cells        sum over places            sum over kernel cells

The cells of the input that lie under the same cells of the kernel are a phase: all of
them where windows move by 1, every second one where they move by 2. So each number of
the gradient is summed up in a register and written once. What the backward pass reads
twice is in a near cache the second time.

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
    GRAD_IMAGES,
    N_ARGUMENTS,
    ROOM,
    SUMS,
    WEIGHTS,
    Source,
    images,
    images_between_zeros,
    offset,
    places,
    places_between_zeros,
)
from daskdl.kernels.tiles.machine import vector_unit
from daskdl.kernels.tiles.nest import (
    Argument,
    Axis,
    Columnwise,
    Contraction,
    Copy,
    Program,
    Statement,
)
from daskdl.kernels.window_products.geometry import strides

# Products whose sum stays in a register: with more of them it would lose digits.
_SUMMED = 1024
# The columns are those of a line where the channels fill less of their vectors.
_FILLED = 0.8
_ONCE = Axis(1)

Rows = tuple[Axis, Axis]
Axes = tuple[Axis, ...]


@dataclass(frozen=True, eq=False)
class Pass:
    """A program, and what it takes besides the caller's arrays.

    Parameters
    ----------
    program : Program
        Its arguments are images, weights, bias, places, the gradient in the images,
        sums for those in weights and bias, and scratch.
    room_size : int
        Numbers of the scratch. The last one must be 1, the others 0.
    repeats : int
        How many copies of each row of weights, and of the bias, lie side by side.
    sums : int
        How many rows of sums lie side by side; (cells + 1) times as many in all.
    """

    program: Program
    room_size: int
    repeats: int
    sums: int = 0


@functools.lru_cache(maxsize=1024)
def forward(geometry: Geometry, *, has_bias: bool) -> Pass:
    """Return the pass that reads images, weights and bias, and writes places."""
    axes, source, target = (
        geometry.window.axes,
        images_between_zeros(geometry),
        places(geometry),
    )
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
    program = Program(geometry.dtype, N_ARGUMENTS, (*source.fill, product))
    return Pass(program, source.end + 1, repeats)


@functools.lru_cache(maxsize=1024)
def backward(geometry: Geometry, *, has_bias: bool, reaches_input: bool) -> Pass:
    """Return the pass that reads images, places and weights, and writes gradients.

    It adds to the sums, the last row of which is that of the bias, and writes the
    gradient in the images if asked. The weights are (*kernel, multiplier, n_in).
    """
    of_sums = _repeats(geometry, geometry.n_out, geometry.window.out[-1])
    repeats = _repeats(geometry, geometry.n_in, geometry.image[-1])
    image = images_between_zeros(geometry)
    place = places_between_zeros(geometry, image.end)
    size = (place if reaches_input else image).end + 1
    statements: list[Statement] = [
        *image.fill,
        _weight_sums(geometry, image, of_sums),
    ]
    if has_bias:
        statements.append(_bias_sums(geometry, Argument(ROOM, size - 1), of_sums))
    if reaches_input:
        statements += place.fill
        statements += [
            _of_phase(geometry, phase, place, repeats)
            for phase in itertools.product(*map(phases, geometry.window.axes))
        ]
    program = Program(geometry.dtype, N_ARGUMENTS, tuple(statements))
    return Pass(program, size, repeats, of_sums)


def _weight_sums(geometry: Geometry, source: Source, repeats: int) -> Columnwise:
    """Return what multiplies images by places."""
    axes, columns = geometry.window.axes, repeats * geometry.n_out
    cells = [
        Axis(axis.kernel, a=step * axis.dilation, c=cell)
        for axis, step, cell in zip(
            axes, source.strides, strides(geometry.kernel, columns), strict=True
        )
    ]
    if repeats > 1:
        # What is summed up fastest and the second axis of rows go together.
        cells = [*cells[:-2], *cells[:-3:-1]]
    rows, loops = _rows_of(cells)
    sums, lines = _summed_places(geometry, source.strides, repeats)
    return Columnwise(
        source.at([-axis.before for axis in axes]),
        places(geometry).argument,
        Argument(SUMS),
        rows,
        columns,
        sums,
        (*loops, *lines),
        "sum",
    )


def _bias_sums(geometry: Geometry, one: Argument, repeats: int) -> Contraction:
    """Return what adds up places, as products with a 1."""
    columns = repeats * geometry.n_out
    sums, lines = _summed_places(geometry, (0,) * len(geometry.kernel), repeats)
    return Contraction(
        one,
        places(geometry).argument,
        Argument(SUMS, geometry.window.n_cells * columns),
        (_ONCE, _ONCE),
        columns,
        sums,
        lines,
        "sum",
    )


def _summed_places(
    geometry: Geometry, steps: Sequence[int], repeats: int
) -> tuple[Axes, Axes]:
    """Return the places as axes of a sum in registers, and as loops around it."""
    target = places(geometry)
    sums = tuple(
        Axis(axis.out, a=step * axis.stride, b=place)
        for axis, step, place in zip(
            geometry.window.axes, steps, target.strides, strict=True
        )
    )
    if repeats > 1:
        sums = sums[:-1] or (_ONCE,)
    if math.prod(axis.size for axis in sums) > _SUMMED:
        return sums[-1:], sums[:-1]
    return sums, ()


def _of_phase(
    geometry: Geometry, phase: Sequence[Phase], source: Source, repeats: int
) -> Columnwise | Copy:
    """Return what writes the cells of a phase."""
    target, columns = images(geometry, GRAD_IMAGES), repeats * geometry.n_in
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


def _repeats(geometry: Geometry, channels: int, of_line: int) -> int:
    """Return how many places of a line are taken together."""
    lanes = vector_unit().lanes(geometry.dtype)
    filled = channels / (-(-channels // lanes) * lanes)
    if geometry.window.axes[-1].stride > 1 or filled >= _FILLED:
        return 1
    return of_line


def _arranged(
    rows: list[Axis], sums: list[Axis], repeats: int
) -> tuple[Rows, Axes, Axes]:
    """Return rows, sums and loops; the last rows may be columns instead."""
    if repeats > 1:
        rows, sums = rows[:-1], [sums[-1], *sums[:-1]]
    pair, loops = _rows_of(rows)
    return pair, tuple(sums), loops


def _rows_of(axes: Sequence[Axis]) -> tuple[Rows, Axes]:
    """Return the last two axes as rows, and the others as loops."""
    *loops, down, across = (_ONCE, _ONCE, *axes)
    return (down, across), tuple(axis for axis in loops if axis.size > 1)
