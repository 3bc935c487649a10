"""A contraction in register tiles."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from daskdl.kernels.tiles.blocking import Stripe, Vector, stripes
from daskdl.kernels.tiles.nest import Axis, Contraction
from daskdl.kernels.tiles.rectangles import Rows, write_rectangles
from daskdl.kernels.tiles.writer import Writer

# Sums this short are written out in full; longer ones so many products at a time.
_UNROLLED = 8
_AT_A_TIME = 4


def write_contraction(writer: Writer, nest: Contraction, example: Any) -> None:
    """Write the loops over blocks of columns, lines of rows and tiles."""
    a, b, c = (writer.start(item, example) for item in (nest.a, nest.b, nest.c))
    bias = [] if nest.bias is None else [writer.start(nest.bias, example)]
    products = int(np.prod([axis.size for axis in nest.sums]))
    sizes = (nest.rows[0].size, nest.rows[1].size)
    for stripe in stripes(writer.unit, writer.lanes, sizes, nest.columns, products):
        first, width = stripe.vectors[0].start, _columns_of(stripe)

        def block(
            _: Any, carried: Sequence[Any], stripe: Stripe = stripe, by: int = width
        ) -> Sequence[Any]:
            b, c, *bias = carried

            def tile(rows: Rows, a: Any, b: Any, c: Any) -> None:
                _write_tile(writer, nest, stripe.vectors, rows, a, b, c, *bias)

            def rectangles(*addresses: Any) -> None:
                cut = (stripe.heights, stripe.widths)
                write_rectangles(writer, nest, *cut, addresses, tile)

            writer.nest_loops(nest.loops, (a, b, c), rectangles)
            return [writer.moved(address, by) for address in carried]

        moving = [writer.moved(address, first) for address in (b, c, *bias)]
        writer.loop(stripe.count, moving, block)


def _write_tile(
    writer: Writer,
    nest: Contraction,
    vectors: Sequence[Vector],
    rows: Rows,
    a: Any,
    b: Any,
    c: Any,
    *bias: Any,
) -> None:
    """Write one tile: start, sum up, store."""
    a_rows, c_rows = zip(*rows, strict=True)
    first = vectors[0].start
    columns = [Vector(vector.start - first, vector.lanes) for vector in vectors]
    row = [
        writer.load(bias[0], column.start, column.lanes)
        if nest.start == "bias"
        else writer.number(0, column.lanes)
        for column in columns
    ]
    sums = _summed(writer, nest.sums, a, b, row * len(rows), a_rows, columns)
    for index, offset in enumerate(c_rows):
        of_row = sums[index * len(columns) : (index + 1) * len(columns)]
        for column, total in zip(columns, of_row, strict=True):
            at = offset + column.start
            if nest.start == "sum":
                total = writer.builder.fadd(writer.load(c, at, column.lanes), total)
            if nest.rectifies:
                total = writer.rectified(total, column.lanes)
            writer.store(total, c, at, column.lanes)


def _summed(
    writer: Writer,
    axes: Sequence[Axis],
    a: Any,
    b: Any,
    sums: Sequence[Any],
    a_rows: Sequence[int],
    columns: Sequence[Vector],
) -> Sequence[Any]:
    """Write the loops of a sum; return what the registers hold behind them."""
    if not axes:
        return _products(writer, a, b, sums, a_rows, columns)
    axis, *rest = axes
    at_a_time = 1 if rest else _at_a_time(axis, a_rows)

    def some(count: int, a: Any, b: Any, sums: Sequence[Any]) -> Sequence[Any]:
        for k in range(count):
            of_k = writer.moved(a, k * axis.a), writer.moved(b, k * axis.b)
            sums = _summed(writer, rest, *of_k, sums, a_rows, columns)
        return sums

    def iteration(_: Any, carried: Sequence[Any]) -> Sequence[Any]:
        a, b, *sums = carried
        sums = list(some(at_a_time, a, b, sums))
        steps = (at_a_time * axis.a, at_a_time * axis.b)
        return [writer.moved(a, steps[0]), writer.moved(b, steps[1]), *sums]

    iterations, left = divmod(axis.size, at_a_time)
    a, b, *sums = writer.loop(iterations, [a, b, *sums], iteration)
    return some(left, a, b, sums)


def _at_a_time(axis: Axis, a_rows: Sequence[int]) -> int:
    """Return how many products of a sum are written out one after the other."""
    most = axis.size if axis.size <= _UNROLLED else _AT_A_TIME
    # A number that two rows read would be loaded once, and kept in a register for the
    # second one at the cost of a sum.
    shifts = {k * axis.a for k in range(1, most)}
    overlaps = any(far - near in shifts for near in a_rows for far in a_rows)
    return 1 if overlaps else most


def _products(
    writer: Writer,
    a: Any,
    b: Any,
    sums: Sequence[Any],
    a_rows: Sequence[int],
    columns: Sequence[Vector],
) -> Sequence[Any]:
    """Write the products of one number of each row and one row of B."""
    row_of_b = [writer.load(b, column.start, column.lanes) for column in columns]
    found = []
    for index, offset in enumerate(a_rows):
        number = writer.load_number(a, offset)
        for v, column in enumerate(columns):
            spread = writer.spread(number, column.lanes)
            total = sums[index * len(columns) + v]
            found.append(writer.fused(spread, row_of_b[v], total))
    return found


def _columns_of(stripe: Stripe) -> int:
    return sum(vector.lanes for vector in stripe.vectors)
