"""The loops over the rectangles of rows that are tiles."""

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import Any, TypeAlias

from daskdl.kernels.tiles.nest import Axis, Contraction
from daskdl.kernels.tiles.writer import Writer

# Where each row of a tile is, in A and in C.
Rows: TypeAlias = Sequence[tuple[int, int]]
Tile: TypeAlias = Callable[[Rows, Any, Any, Any], None]


def write_rectangles(
    writer: Writer,
    nest: Contraction,
    heights: Iterable[int],
    widths: Iterable[int],
    addresses: tuple[Any, Any, Any],
    tile: Tile,
) -> None:
    """Write the loops over all rectangles of rows.

    Parameters
    ----------
    writer : Writer
    nest : Contraction
        Whose rows they are.
    heights, widths : iterable of int
        How many rows along the two axes, one number a tile.
    addresses : (address, address, address)
        Of A, B and C.
    tile : function of rows and the addresses of A, B and C
        Writes one tile.
    """
    down, across = nest.rows
    a, b, c = addresses
    across_runs = runs(widths)
    for height, n_down, first_down in runs(heights):
        for width, n_across, first_across in across_runs:
            a_first = first_down * down.a + first_across * across.a
            c_first = first_down * down.c + first_across * across.c
            loops = (
                Axis(n_down, height * down.a, 0, height * down.c),
                Axis(n_across, width * across.a, 0, width * across.c),
            )
            rows = [
                (y * down.a + x * across.a, y * down.c + x * across.c)
                for y in range(height)
                for x in range(width)
            ]

            def write(a: Any, b: Any, c: Any, rows: Rows = rows) -> None:
                tile(rows, a, b, c)

            first = (writer.moved(a, a_first), b, writer.moved(c, c_first))
            writer.nest_loops(loops, first, write)


def runs(parts: Iterable[int]) -> list[tuple[int, int, int]]:
    """Return size, number and first row of each run of equal parts."""
    found, first = [], 0
    for size, group in groupby(parts):
        n = len(list(group))
        found.append((size, n, first))
        first += n * size
    return found
