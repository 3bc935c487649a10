"""The few channels of the output that are left over behind full registers.

50 channels are three registers of 16 and two numbers that would take a fourth one. With
the roles changed the two are rows of a tile, and its columns are whatever is long::

    output, for each image                     weights, for each image
      planes = image with channels first         for each kernel line (i):
      tile of 2 channels x positions               tile of 2 channels x (j, c)
      sum over i, j, c                             sum over outputs (y, x)
      output's channels = its transposed

Positions are those of the image one after the other, so that windows must move by 1;
what lies between the lines of the output is computed, too, and dropped. The bias is
added as a product with a plane of ones.
"""

import math
from dataclasses import replace

from daskdl.kernels.tiles.blocking import contraction_cost
from daskdl.kernels.tiles.machine import vector_unit
from daskdl.kernels.tiles.nest import (
    Argument,
    Axis,
    Contraction,
    Copy,
    Statement,
    Transpose,
)
from daskdl.kernels.window_products.geometry import Geometry, strides
from daskdl.kernels.window_products.statements import Where

# Cycles that it takes to transpose a number, in squares and at their edges.
_IN_SQUARE = 1.0
_AT_EDGE = 5.0


def leftover(geometry: Geometry) -> int:
    """Return the channels of an output behind its full registers; 0 if none is full."""
    lanes = vector_unit().lanes(geometry.dtype)
    return geometry.n_out % lanes if geometry.n_out > lanes else 0


def without(
    statements: tuple[Copy | Contraction, ...], rest: int
) -> tuple[Copy | Contraction, ...]:
    """Return the statements of a product without its last columns."""
    return tuple(
        replace(statement, columns=statement.columns - rest)
        if isinstance(statement, Contraction)
        else statement
        for statement in statements
    )


def planes_size(geometry: Geometry) -> int:
    """Return the numbers of an image in planes, with the plane of ones."""
    return (geometry.n_in + 1) * math.prod(geometry.padded)


def length(geometry: Geometry) -> int:
    """Return the positions from the first window to the last one."""
    steps = strides(geometry.padded, 1)
    last = (axis.out - 1 for axis in geometry.window.axes)
    return 1 + sum(n * step for n, step in zip(last, steps, strict=True))


def outputs(
    geometry: Geometry, where: Where, rest: int, *, has_bias: bool, rectifies: bool
) -> tuple[Contraction | Transpose, ...]:
    """Write the last `rest` channels of the output.

    Reads what the windows slide over, weights and bias; uses `where.planes`, whose last
    plane must be ones, and `where.remainder` for (rest, :func:`length`) numbers.
    """
    axes, n_out = geometry.window.axes, geometry.n_out
    positions, size = strides(geometry.padded, 1), math.prod(geometry.padded)
    n_in, n_columns = geometry.n_in, length(geometry)
    planes, first = Argument(where.planes), n_out - rest
    to_planes = Transpose(where.input_of(geometry), planes, size, n_in, n_in, size)
    cells = strides(geometry.window.kernel, n_in * n_out)
    rows = (Axis(1), Axis(rest, a=1, c=n_columns))
    ones = Contraction(
        Argument(where.bias, first),
        Argument(where.planes, n_in * size),
        Argument(where.remainder),
        rows,
        n_columns,
        (Axis(1),),
    )
    sums = [
        Axis(axis.kernel, a=cell, b=position * axis.dilation)
        for axis, cell, position in zip(axes, cells, positions, strict=True)
    ]
    product = Contraction(
        Argument(where.matrix, first),
        planes,
        Argument(where.remainder),
        rows,
        n_columns,
        (*sums, Axis(n_in, a=n_out, b=size)),
        start="sum" if has_bias else "zero",
        rectifies=rectifies,
    )
    lines = tuple(
        Axis(axis.out, a=position, c=output)
        for axis, position, output in zip(
            axes[:-1], positions, geometry.output_strides, strict=False
        )
    )
    target = where.output_of(geometry)
    back = Transpose(
        Argument(where.remainder),
        replace(target, offset=first),
        rest,
        axes[-1].out,
        n_columns,
        n_out,
        lines,
    )
    return (to_planes, *((ones,) if has_bias else ()), product, back)


def weights(geometry: Geometry, where: Where, rest: int) -> Contraction:
    """Add to ``where.remainder``, (rest, rows of the weights), their last columns."""
    axes, image = geometry.window.axes, geometry.input_strides
    steps = strides(geometry.window.kernel, geometry.n_in)
    *lines, last = (
        Axis(axis.kernel, b=stride * axis.dilation, c=step)
        for axis, stride, step in zip(axes, image, steps, strict=True)
    )
    columns = geometry.n_in
    if axes[-1].dilation == 1:
        columns *= last.size
    else:
        lines.append(last)
    target = where.output_of(geometry)
    return Contraction(
        replace(target, offset=geometry.n_out - rest),
        where.input_of(geometry),
        Argument(where.remainder),
        (
            Axis(1),
            Axis(rest, a=1, c=math.prod(geometry.window.kernel) * geometry.n_in),
        ),
        columns,
        tuple(
            Axis(axis.out, a=output, b=stride * axis.stride)
            for axis, stride, output in zip(
                axes, image, geometry.output_strides, strict=True
            )
        ),
        tuple(lines),
        "sum",
    )


def costs_less(
    dtype: str, parts: tuple[Statement, ...], whole: tuple[Statement, ...]
) -> bool:
    """Return whether the first statements cost less than the second ones."""
    return _cost(dtype, parts) < _cost(dtype, whole)


def _cost(dtype: str, statements: tuple[Statement, ...]) -> float:
    """Return cycles; copies, the same in both, count as nothing."""
    unit = vector_unit()
    lanes = unit.lanes(dtype)
    total = 0.0
    for statement in statements:
        if isinstance(statement, Contraction):
            sizes = (statement.rows[0].size, statement.rows[1].size)
            each = contraction_cost(
                unit, lanes, sizes, statement.columns, _times(statement.sums)
            )
            total += _times(statement.loops) * each
        elif isinstance(statement, Transpose):
            is_square = min(statement.rows, statement.columns) >= lanes
            each = _IN_SQUARE if is_square else _AT_EDGE
            numbers = statement.rows * statement.columns
            total += _times(statement.loops) * numbers * each
    return total


def _times(axes: tuple[Axis, ...]) -> int:
    return math.prod(axis.size for axis in axes)
