"""A contraction in which A has columns, too, in register tiles.

Neighbouring rows meet the same numbers of A: row 5 and cell 0, row 4 and cell 1,
row 3 and cell 2. So some products of the fastest sum are written out together, and
each register of A is loaded once for all of them::

    for each line of the loops around
      for each block of columns                   1 to 4 vectors of them
        for each tile of rows                     rows x vectors registers
          registers = 0, bias or C
          for each product of the sum, some at a time
            load their rows of B
            for each row of A: load, multiply and add for every row of C it goes to
          C = registers

A line stays in the level-1 cache while all its columns go by.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from daskdl.kernels.tiles.blocking import LATENCY, column_vectors, even_parts
from daskdl.kernels.tiles.machine import VectorUnit
from daskdl.kernels.tiles.nest import Axis, Columnwise
from daskdl.kernels.tiles.rectangles import Rows, runs, write_rectangles
from daskdl.kernels.tiles.writer import Writer

_MOST_VECTORS = 4
# Products of the fastest sum that are written out together.
_MOST_AT_A_TIME = 8


@dataclass(frozen=True, order=True)
class Tiling:
    """How rows and sums are cut.

    Parameters
    ----------
    heights, widths : tuple of int
        Rows of a tile along the two axes of rows, one number a tile.
    unrolled : tuple of int
        How many products of the fastest sum are written out together, one number an
        iteration.
    """

    heights: tuple[int, ...]
    widths: tuple[int, ...]
    unrolled: tuple[int, ...]


def write_columnwise(writer: Writer, nest: Columnwise, example: Any) -> None:
    """Write the loops over lines, blocks of columns and tiles."""
    a, b, c = (writer.start(item, example) for item in (nest.a, nest.b, nest.c))
    bias = [] if nest.bias is None else [writer.start(nest.bias, example)]
    blocks = list(_blocks(writer, nest))

    def line(a: Any, b: Any, c: Any) -> None:
        for first, count, lanes, tiling in blocks:

            def block(
                _: Any,
                carried: Sequence[Any],
                lanes: Sequence[int] = lanes,
                tiling: Tiling = tiling,
            ) -> Sequence[Any]:
                a, b, c, *bias = carried

                def tile(rows: Rows, a: Any, b: Any, c: Any) -> None:
                    _Tile(writer, nest, lanes, rows, tiling.unrolled).write(
                        a, b, c, *bias
                    )

                cut = (tiling.heights, tiling.widths)
                write_rectangles(writer, nest, *cut, (a, b, c), tile)
                return [writer.moved(address, sum(lanes)) for address in carried]

            moving = [writer.moved(address, first) for address in (a, b, c, *bias)]
            writer.loop(count, moving, block)

    writer.nest_loops(nest.loops, (a, b, c), line)


def _blocks(
    writer: Writer, nest: Columnwise
) -> Iterator[tuple[int, int, tuple[int, ...], Tiling]]:
    """Yield first column, number, lanes of the vectors and tiles of equal blocks."""
    vectors = column_vectors(writer.unit, writer.lanes, nest.columns)
    for lanes, group in groupby(vectors, lambda vector: vector.lanes):
        alike = list(group)
        first = alike[0].start
        for count, n in _cut(writer.unit, nest, len(alike)):
            yield first, count, (lanes,) * n, _best_tiling(writer.unit, nest, n)[1]
            first += count * n * lanes


def _cut(unit: VectorUnit, nest: Columnwise, n_vectors: int) -> list[tuple[int, int]]:
    """Return number and vectors of the blocks that cost least."""
    cuts = [
        [(count, n) for count, n in ((n_vectors // n, n), (1, n_vectors % n)) if n]
        for n in range(1, min(n_vectors, _MOST_VECTORS) + 1)
    ]
    return min(
        cuts,
        key=lambda cut: sum(count * _best_tiling(unit, nest, n)[0] for count, n in cut),
    )


def _best_tiling(
    unit: VectorUnit, nest: Columnwise, n_vectors: int
) -> tuple[float, Tiling]:
    """Return cycles and cut of the best tiles for blocks this wide."""
    down, across = nest.rows
    found = []
    for at_a_time in range(1, min(nest.sums[-1].size, _MOST_AT_A_TIME) + 1):
        # Rows of B, and one register for A.
        most = max(1, (unit.registers - 1) // n_vectors - at_a_time)
        for width in range(1, min(across.size, most) + 1):
            tiling = Tiling(
                even_parts(down.size, min(down.size, most // width)),
                even_parts(across.size, width),
                even_parts(nest.sums[-1].size, at_a_time),
            )
            found.append((_cost(nest, n_vectors, tiling), tiling))
    return min(found)


def _cost(nest: Columnwise, n_vectors: int, tiling: Tiling) -> float:
    """Return the cycles of a core with two multiply-add units and two load ports."""
    n_iterations = len(tiling.unrolled) * np.prod(
        [axis.size for axis in nest.sums[:-1]]
    )
    at_a_time, width = tiling.unrolled[0], tiling.widths[0]
    loads = len(_offsets(nest, width, at_a_time))
    cycles = 0.0
    for height in tiling.heights:
        sums = height * width * n_vectors
        each = max(
            sums * at_a_time / 2,
            (height * loads + at_a_time) * n_vectors / 2,
            LATENCY * at_a_time,
        )
        # Written and, at worst, read before: two ports, and the loop's own prologue.
        cycles += n_iterations * each + 1.5 * sums + 10
    return float(cycles * len(tiling.widths))


def _offsets(nest: Columnwise, width: int, at_a_time: int) -> set[int]:
    """Return where a line of a tile reads A."""
    across, fastest = nest.rows[1].a, nest.sums[-1].a
    return {x * across + k * fastest for x in range(width) for k in range(at_a_time)}


class _Tile:
    """One tile: start, sum up, store.

    Parameters
    ----------
    writer : Writer
    nest : Columnwise
    lanes : sequence of int
        Live lanes of the vectors of columns.
    rows : sequence of (int, int)
        Where each row is in A and in C.
    unrolled : sequence of int
        As of :class:`Tiling`.
    """

    def __init__(
        self,
        writer: Writer,
        nest: Columnwise,
        lanes: Sequence[int],
        rows: Rows,
        unrolled: Sequence[int],
    ) -> None:
        self._writer = writer
        self._nest = nest
        self._lanes = lanes
        self._columns = [0, *itertools.accumulate(lanes)][:-1]
        self._rows = rows
        self._unrolled = unrolled

    def write(self, a: Any, b: Any, c: Any, *bias: Any) -> None:
        writer, start = self._writer, self._nest.start
        if start == "bias":
            row = self._loaded(bias[0], 0)
        else:
            row = [writer.number(0, lanes) for lanes in self._lanes]
        sums = self._summed(self._nest.sums, a, b, row * len(self._rows))
        totals = iter(sums)
        for _, at in self._rows:
            for column, lanes in zip(self._columns, self._lanes, strict=True):
                total = next(totals)
                if start == "sum":
                    before = writer.load(c, at + column, lanes)
                    total = writer.builder.fadd(before, total)
                if self._nest.rectifies:
                    total = writer.rectified(total, lanes)
                writer.store(total, c, at + column, lanes)

    def _summed(
        self, axes: Sequence[Axis], a: Any, b: Any, sums: Sequence[Any]
    ) -> Sequence[Any]:
        """Write the loops of a sum; return what the registers hold behind them."""
        axis, *rest = axes
        for size, count, _ in [(1, axis.size, 0)] if rest else runs(self._unrolled):

            def iteration(
                _: Any, carried: Sequence[Any], size: int = size
            ) -> Sequence[Any]:
                a, b, *sums = carried
                if rest:
                    sums = list(self._summed(rest, a, b, sums))
                else:
                    sums = self._products(size, a, b, sums)
                writer = self._writer
                return [
                    writer.moved(a, size * axis.a),
                    writer.moved(b, size * axis.b),
                    *sums,
                ]

            a, b, *sums = self._writer.loop(count, [a, b, *sums], iteration)
        return sums

    def _products(self, count: int, a: Any, b: Any, sums: Sequence[Any]) -> list[Any]:
        """Write some products of every row."""
        axis, n = self._nest.sums[-1], len(self._lanes)
        found = list(sums)
        rows_of_b = [self._loaded(b, k * axis.b) for k in range(count)]
        pairs = sorted(
            (at + k * axis.a, row, k)
            for row, (at, _) in enumerate(self._rows)
            for k in range(count)
        )
        for at, group in groupby(pairs, lambda pair: pair[0]):
            row_of_a = self._loaded(a, at)
            for _, row, k in group:
                for v, (left, right) in enumerate(
                    zip(row_of_a, rows_of_b[k], strict=True)
                ):
                    total = found[row * n + v]
                    found[row * n + v] = self._writer.fused(left, right, total)
        return found

    def _loaded(self, address: Any, at: int) -> list[Any]:
        """Return a row in registers."""
        return [
            self._writer.load(address, at + column, lanes)
            for column, lanes in zip(self._columns, self._lanes, strict=True)
        ]
