"""How rows and columns are cut into tiles that fit the registers.

The cost of a tile is counted in cycles of a core with two multiply-add units and two
load ports. Measured rates are within a tenth of it where the data is in the level-1
cache; the order of the candidates is what counts.
"""

import functools
import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from daskdl.kernels.tiles.machine import VectorUnit

_MOST_VECTORS = 6
# A multiply-add takes four cycles: a small tile waits for its own sums.
LATENCY = 4.0


@dataclass(frozen=True)
class Vector:
    """A stretch of columns in one register: where it begins, and its live lanes."""

    start: int
    lanes: int


@dataclass(frozen=True)
class Stripe:
    """Blocks of columns side by side, and the rectangles that their rows are cut into.

    Parameters
    ----------
    count : int
        How many blocks there are.
    vectors : tuple of Vector
        The columns of the first one.
    heights, widths : tuple of int
        Rows of a tile along the two axes of rows, one number a tile.
    """

    count: int
    vectors: tuple[Vector, ...]
    heights: tuple[int, ...]
    widths: tuple[int, ...]


@functools.lru_cache(maxsize=1024)
def stripes(
    unit: VectorUnit, lanes: int, rows: tuple[int, int], columns: int, products: int
) -> tuple[Stripe, ...]:
    """Return the cheapest cut of rows and columns.

    Parameters
    ----------
    unit : VectorUnit
        Its number of registers bounds a tile.
    lanes : int
        Numbers in a register.
    rows : (int, int)
        Sizes of the two axes of rows.
    columns : int
        Number of columns.
    products : int
        How many are summed up in registers before a tile is written.
    """
    vectors = column_vectors(unit, lanes, columns)
    cost, cut = [0.0], [0]
    for stop in range(1, len(vectors) + 1):
        candidates = [
            (cost[stop - n] + _best_rows(unit, rows, n, products)[0], n)
            for n in range(1, min(stop, _MOST_VECTORS) + 1)
        ]
        best, n = min(candidates)
        cost.append(best)
        cut.append(n)
    sizes = []
    stop = len(vectors)
    while stop:
        sizes.append(cut[stop])
        stop -= cut[stop]
    return tuple(_joined(unit, rows, vectors, sorted(sizes, reverse=True), products))


def _joined(
    unit: VectorUnit,
    rows: tuple[int, int],
    vectors: tuple[Vector, ...],
    sizes: list[int],
    products: int,
) -> Iterator[Stripe]:
    """Yield stripes of equal blocks; those with narrower vectors come last."""
    ends = [0, *itertools.accumulate(sizes)]
    blocks = [vectors[first:last] for first, last in itertools.pairwise(ends)]
    for lanes, group in itertools.groupby(blocks, _lanes):
        first, *others = group
        _, heights, widths = _best_rows(unit, rows, len(lanes), products)
        yield Stripe(1 + len(others), first, heights, widths)


def _lanes(block: tuple[Vector, ...]) -> tuple[int, ...]:
    return tuple(vector.lanes for vector in block)


def contraction_cost(
    unit: VectorUnit, lanes: int, rows: tuple[int, int], columns: int, products: int
) -> float:
    """Return the cycles that the tiles of :func:`stripes` take."""
    return sum(
        stripe.count
        * _rows_cost(stripe.heights, stripe.widths, len(stripe.vectors), products)
        for stripe in stripes(unit, lanes, rows, columns, products)
    )


def column_vectors(unit: VectorUnit, lanes: int, columns: int) -> tuple[Vector, ...]:
    """Cut columns into registers; the rest into a masked one, or into narrower ones."""
    found = [Vector(start, lanes) for start in range(0, columns - lanes + 1, lanes)]
    start = len(found) * lanes
    while start < columns:
        rest = columns - start
        live = rest if unit.masks else 2 ** (rest.bit_length() - 1)
        found.append(Vector(start, live))
        start += live
    return tuple(found)


@functools.lru_cache(maxsize=4096)
def _best_rows(
    unit: VectorUnit, rows: tuple[int, int], n_vectors: int, products: int
) -> tuple[float, tuple[int, ...], tuple[int, ...]]:
    """Return cost, heights and widths of the best rectangles for blocks this wide."""
    # One register for each vector of B and one for the number of A.
    most = max(1, (unit.registers - n_vectors - 1) // n_vectors)
    candidates = (
        (even_parts(rows[0], height), even_parts(rows[1], width))
        for width in range(1, min(rows[1], most) + 1)
        for height in range(1, min(rows[0], most // width) + 1)
    )
    return min(
        (_rows_cost(heights, widths, n_vectors, products), heights, widths)
        for heights, widths in candidates
    )


def _rows_cost(
    heights: tuple[int, ...], widths: tuple[int, ...], n_vectors: int, products: int
) -> float:
    return sum(
        n_high * n_wide * _tile_cost(height * width, n_vectors, products)
        for height, n_high in _counted(heights)
        for width, n_wide in _counted(widths)
    )


def _counted(parts: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    """Return the sizes of :func:`even_parts`, two at most, and how many of each."""
    first, last = parts[0], parts[-1]
    n = parts.count(first)
    return ((first, n),) if n == len(parts) else ((first, n), (last, len(parts) - n))


def even_parts(size: int, most: int) -> tuple[int, ...]:
    """Cut `size` into as few parts as possible, none above `most`, nearly equal."""
    n = -(-size // most)
    small, larger = divmod(size, n)
    return (small + 1,) * larger + (small,) * (n - larger)


def _tile_cost(n_rows: int, n_vectors: int, products: int) -> float:
    sums = n_rows * n_vectors
    loads = n_rows + n_vectors
    each = max(sums / 2, loads / 2, LATENCY)
    # Written and, at worst, read before: two ports, and the loop's own prologue.
    return products * each + 1.5 * sums + 10
