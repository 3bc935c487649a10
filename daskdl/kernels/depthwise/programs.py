"""The passes of a depthwise convolution as programs of register tiles.

Every channel is a column, and a cell of the kernel a row of weights::

    forward                      backward
    for each image               for each image
      for each box:                for each box:              for each phase, box:
        copy it if need be           copy it if need be         copy outputs if need be
        for each line of outputs:    for each kernel line:      for each line of cells:
          tile of outputs              tile of kernel cells       tile of input cells
          sum over kernel cells        sum over outputs           sum over kernel cells

The first box is where the kernel meets no padding; the slabs around it are copied
between zeros. A small image is one box, and copied as a whole.

The cells of the input that lie under the same cells of the kernel are a phase: all of
them where windows move by 1, every second one where they move by 2. So each number of
the gradient is summed up in a register and written once. What the backward pass reads
twice is in a near cache the second time.

Where the channels of an output fill vectors badly and windows move by 1, the columns
are all numbers of a line, and the weights are repeated for each of its outputs.

With several kernels a channel the image is copied to scratch with each channel as often
as it has kernels; the outputs are sorted by the number of the kernel, line by line.
"""

import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from daskdl.kernels.depthwise.geometry import (
    Box,
    Geometry,
    Phase,
    Slide,
    over_input,
    phases,
)
from daskdl.kernels.depthwise.sources import (
    BIAS,
    GRAD_IMAGES,
    N_ARGUMENTS,
    SCRATCH,
    SUMS,
    WEIGHTS,
    Part,
    image_parts,
    images,
    moved,
    output_parts,
    outputs,
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
    column_sums,
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
        Its arguments are images, weights, bias, outputs, the gradient in the images,
        sums for those in weights and bias, and scratch.
    scratch_size : int
        Numbers of the scratch. The last one must be 1, the others 0.
    repeats : int
        How many copies of each row of weights, and of the bias, lie side by side.
    sums : int
        How many rows of sums lie side by side; (cells + 1) times as many in all.
    """

    program: Program
    scratch_size: int
    repeats: int
    sums: int = 0


@functools.lru_cache(maxsize=1024)
def forward(geometry: Geometry, *, has_bias: bool) -> Pass:
    """Return the pass that reads images, weights and bias, and writes outputs."""
    repeats = _repeats(geometry, geometry.n_out, geometry.window.out[-1])
    parts = image_parts(geometry, _over_images(geometry), by_line=repeats > 1)
    statements: list[Statement] = []
    for part in parts:
        statements += part.source.fill
        statements.append(_windows(geometry, part, repeats, has_bias=has_bias))
    program = Program(geometry.dtype, N_ARGUMENTS, tuple(statements))
    return Pass(program, parts[-1].source.end + 1, repeats)


@functools.lru_cache(maxsize=1024)
def backward(geometry: Geometry, *, has_bias: bool, reaches_input: bool) -> Pass:
    """Return the pass that reads images, outputs and weights, and writes gradients.

    It adds to the sums, the last row of which is that of the bias, and writes the
    gradient in the images if asked. The weights are (*kernel, multiplier, n_in).
    """
    of_sums = _repeats(geometry, geometry.n_out, geometry.window.out[-1])
    repeats = _repeats(geometry, geometry.n_in, geometry.window.sizes[-1])
    parts = image_parts(geometry, _over_images(geometry), by_line=of_sums > 1)
    end = parts[-1].source.end
    statements: list[Statement] = []
    for part in parts:
        statements += part.source.fill
        statements.append(_weight_sums(geometry, part, of_sums))
    of_input: list[Statement] = []
    if reaches_input:
        of_input, end = _input_statements(geometry, repeats, end)
    if has_bias:
        statements.append(_bias_sums(geometry, Argument(SCRATCH, end), of_sums))
    program = Program(geometry.dtype, N_ARGUMENTS, (*statements, *of_input))
    return Pass(program, end + 1, repeats, of_sums)


def _over_images(geometry: Geometry) -> list[Slide]:
    return [over_input(axis) for axis in geometry.window.axes]


def _windows(
    geometry: Geometry, part: Part, repeats: int, *, has_bias: bool
) -> Columnwise:
    """Return what multiplies windows by weights."""
    target, columns = outputs(geometry), repeats * geometry.n_out
    rows, sums, loops = _arranged(
        *_rows_and_sums(
            _over_images(geometry),
            part,
            target.strides,
            strides(geometry.window.kernel, columns),
        ),
        repeats,
    )
    return Columnwise(
        _first_read(_over_images(geometry), part),
        Argument(WEIGHTS),
        target.at([first for first, _ in part.box]),
        rows,
        columns,
        sums,
        loops,
        "bias" if has_bias else "zero",
        Argument(BIAS) if has_bias else None,
    )


def _weight_sums(geometry: Geometry, part: Part, repeats: int) -> Columnwise:
    """Return what multiplies images by outputs."""
    columns, slides = repeats * geometry.n_out, _over_images(geometry)
    cells = [
        Axis(slide.n_cells, a=step * slide.cell, c=cell)
        for slide, step, cell in zip(
            slides,
            part.source.strides,
            strides(geometry.window.kernel, columns),
            strict=True,
        )
    ]
    if repeats > 1:
        # What is summed up fastest and the second axis of rows go together.
        cells = [*cells[:-2], *cells[:-3:-1]]
    rows, loops = _rows_of(cells)
    steps = [
        step * slide.step
        for step, slide in zip(part.source.strides, slides, strict=True)
    ]
    sums, lines = _summed_outputs(geometry, part.box, steps, repeats)
    return Columnwise(
        _first_read(slides, part),
        outputs(geometry).at([first for first, _ in part.box]),
        Argument(SUMS),
        rows,
        columns,
        sums,
        (*loops, *lines),
        "sum",
    )


def _bias_sums(geometry: Geometry, one: Argument, repeats: int) -> Contraction:
    """Return what adds up outputs, as products with a 1."""
    columns = repeats * geometry.n_out
    every = tuple((0, size) for size in geometry.window.out)
    sums, lines = _summed_outputs(geometry, every, (0,) * len(every), repeats)
    target = Argument(SUMS, geometry.window.n_cells * columns)
    return column_sums(one, outputs(geometry).argument, target, columns, sums, lines)


def _summed_outputs(
    geometry: Geometry, box: Box, steps: Sequence[int], repeats: int
) -> tuple[Axes, Axes]:
    """Return the outputs as axes of a sum in registers, and as loops around it."""
    sums = tuple(
        Axis(stop - first, a=step, b=output)
        for (first, stop), step, output in zip(
            box, steps, outputs(geometry).strides, strict=True
        )
    )
    if repeats > 1:
        sums = sums[:-1] or (_ONCE,)
    if math.prod(axis.size for axis in sums) > _SUMMED:
        return sums[-1:], sums[:-1]
    return sums, ()


def _input_statements(
    geometry: Geometry, repeats: int, begin: int
) -> tuple[list[Statement], int]:
    """Return what writes the gradient in the images, and where its scratch ends."""
    every = list(itertools.product(*map(phases, geometry.window.axes)))
    reached = [phase for phase in every if all(each.slide.n_cells for each in phase)]
    found: list[Statement] = [
        _unreached(geometry, phase) for phase in every if phase not in reached
    ]
    if not reached:
        return found, begin
    slides = [[each.slide for each in phase] for phase in reached]
    parts = output_parts(geometry, slides, begin, by_line=repeats > 1)
    for phase, of_phase in zip(reached, parts, strict=True):
        for part in of_phase:
            found += part.source.fill
            found.append(_of_phase(geometry, phase, part, repeats))
    return found, parts[-1][-1].source.end


def _of_phase(
    geometry: Geometry, phase: Sequence[Phase], part: Part, repeats: int
) -> Columnwise:
    """Return what writes cells of a phase."""
    columns, slides = repeats * geometry.n_in, [each.slide for each in phase]
    cells = strides(geometry.window.kernel, geometry.multiplier * columns)
    rows, sums = _rows_and_sums(
        slides,
        part,
        _strided(geometry),
        [each.step * cell for each, cell in zip(phase, cells, strict=True)],
    )
    kernels = Axis(geometry.multiplier, a=part.source.of_kernel, b=columns)
    of_rows, of_sums, loops = _arranged(rows, [kernels, *sums], repeats)
    weights = moved(Argument(WEIGHTS), [each.kernel for each in phase], cells)
    return Columnwise(
        _first_read(slides, part),
        weights,
        _cells(geometry, phase, [first for first, _ in part.box]),
        of_rows,
        columns,
        of_sums,
        loops,
    )


def _unreached(geometry: Geometry, phase: Sequence[Phase]) -> Copy:
    """Return what writes 0 to the cells of a phase that lie under no kernel cell."""
    rows = tuple(
        Axis(each.slide.count, c=step)
        for each, step in zip(phase, _strided(geometry), strict=True)
    )
    return Copy(_cells(geometry, phase, [0] * len(phase)), geometry.n_in, rows)


def _strided(geometry: Geometry) -> list[int]:
    """Return the strides from one cell of a phase to the next one."""
    steps = images(geometry).strides
    return [
        axis.stride * step
        for axis, step in zip(geometry.window.axes, steps, strict=True)
    ]


def _cells(
    geometry: Geometry, phase: Sequence[Phase], indices: Sequence[int]
) -> Argument:
    """Return where cells of a phase lie."""
    first = images(geometry, GRAD_IMAGES).at([each.first for each in phase])
    return moved(first, indices, _strided(geometry))


def _first_read(slides: Sequence[Slide], part: Part) -> Argument:
    """Return what the first cell of a kernel reads in the first position."""
    return part.source.at(
        [
            slide.start + first * slide.step
            for slide, (first, _) in zip(slides, part.box, strict=True)
        ]
    )


def _rows_and_sums(
    slides: Sequence[Slide], part: Part, targets: Sequence[int], cells: Sequence[int]
) -> tuple[list[Axis], list[Axis]]:
    """Return positions as rows, and kernel cells as sums."""
    rows, sums = [], []
    for slide, (first, stop), step, target, cell in zip(
        slides, part.box, part.source.strides, targets, cells, strict=True
    ):
        rows.append(Axis(stop - first, a=step * slide.step, c=target))
        sums.append(Axis(slide.n_cells, a=step * slide.cell, b=cell))
    return rows, sums


def _repeats(geometry: Geometry, channels: int, of_line: int) -> int:
    """Return how many outputs of a line are taken together."""
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
