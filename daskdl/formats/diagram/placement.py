"""Placement of the boxes and edges of a graph in a picture. Pure.

Rows go from top to bottom; a long graph is broken into columns side by side, behind
boxes that everything below depends on.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from daskdl.formats.diagram.rows import Bend, Place, Rows, rows_of

__all__ = ["BOX_HEIGHT", "BOX_WIDTH", "Edge", "Placement", "place"]

BOX_WIDTH, BOX_HEIGHT = 196, 58
MARGIN = 28
_GAP_X, _GAP_Y = 26, 34
_BEND_WIDTH = 18
_COLUMN_GAP = 64
# Up to so many rows one column is easy to follow.
_ROWS_TO_BREAK = 16
_LEAST_ROWS = 3
# Width over height that a page or screen takes well.
_ASPECT = 1.4
_ROUNDS = 12


@dataclass(frozen=True)
class Edge:
    """A line from the bottom of a box to the top of another one.

    Parameters
    ----------
    source, target : str
        The boxes.
    points : tuple of (x, y)
        Pixels: the ends, and where it bends.
    gutter : float, optional
        Of an edge that leads to the top of the next column: where between the two it
        goes up, on its way to the second point.
    """

    source: str
    target: str
    points: tuple[tuple[float, float], ...]
    gutter: float | None = None


@dataclass(frozen=True)
class Placement:
    """A picture without paint.

    Parameters
    ----------
    boxes : dict of str to (x, y)
        Left upper corners, in pixels; each box is BOX_WIDTH by BOX_HEIGHT.
    edges : list of Edge
        All edges.
    width, height : float
        Of the picture, its margin included.
    """

    boxes: dict[str, tuple[float, float]]
    edges: list[Edge]
    width: float
    height: float


def place(reads: Mapping[str, Sequence[str]]) -> Placement:
    """Return where the vertices of a graph stand.

    Parameters
    ----------
    reads : mapping of str to sequence of str
        As :func:`~daskdl.formats.diagram.rows.rows_of` takes it.
    """
    found = rows_of(reads)
    centers = _centers(found)
    columns = _columns(found, centers)
    lefts = _lefts(found, centers, columns)
    middles: dict[Place, tuple[float, float]] = {}
    column_of: dict[Place, int] = {}
    for number, rows in enumerate(columns):
        middles.update(_middles(found, centers, rows, lefts[number]))
        column_of.update({item: number for row in rows for item in found.rows[row]})
    edges = []
    for target, sources in reads.items():
        for source in dict.fromkeys(sources):
            column = column_of[target]
            is_next = column_of[source] != column
            gutter = lefts[column] - _COLUMN_GAP / 2 if is_next else None
            edges.append(_edge(found.chain(source, target), middles, gutter))
    boxes = {
        item: (x - BOX_WIDTH / 2, y - BOX_HEIGHT / 2)
        for item, (x, y) in middles.items()
        if isinstance(item, str)
    }
    right, bottom = lefts[-1] - _COLUMN_GAP, max(y for _, y in boxes.values())
    return Placement(boxes, edges, right + MARGIN, bottom + BOX_HEIGHT + MARGIN)


def _centers(found: Rows) -> dict[Place, float]:
    """Return the horizontal middle of each place, near its neighbours' middles."""
    centers: dict[Place, float] = {}
    for row in found.rows:
        x = 0.0
        for item in row:
            centers[item] = x + _width(item) / 2
            x += _width(item) + _GAP_X
    for number in range(_ROUNDS):
        downwards = number % 2 == 0
        neighbours = found.above if downwards else found.below
        for row in found.rows if downwards else found.rows[::-1]:
            wanted = [_wanted(item, centers, neighbours) for item in row]
            centers.update(zip(row, _spread(row, wanted), strict=True))
    return centers


def _wanted(
    item: Place,
    centers: Mapping[Place, float],
    neighbours: Mapping[Place, list[Place]],
) -> float:
    others = neighbours.get(item)
    if not others:
        return centers[item]
    return sum(centers[other] for other in others) / len(others)


def _spread(row: Sequence[Place], wanted: Sequence[float]) -> list[float]:
    """Return middles without overlaps, nearest to the wanted ones.

    References
    ----------
    Pool adjacent violators: the least squares under an order.
    """
    offsets = [0.0]
    for left, right in itertools.pairwise(row):
        offsets.append(offsets[-1] + (_width(left) + _width(right)) / 2 + _GAP_X)
    pools: list[tuple[float, int]] = []
    for center, offset in zip(wanted, offsets, strict=True):
        pools.append((center - offset, 1))
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            (second, n), (first, m) = pools.pop(), pools.pop()
            pools.append(((first * m + second * n) / (m + n), m + n))
    bases = [base for base, n in pools for _ in range(n)]
    return [base + offset for base, offset in zip(bases, offsets, strict=True)]


def _columns(found: Rows, centers: Mapping[Place, float]) -> list[range]:
    """Return the rows of each column."""
    n_rows = len(found.rows)
    if n_rows <= _ROWS_TO_BREAK:
        return [range(n_rows)]
    height = n_rows * (BOX_HEIGHT + _GAP_Y)
    left, right = _extent(found.rows, centers)
    n_columns = math.ceil(math.sqrt(_ASPECT * height / (right - left + _COLUMN_GAP)))
    wanted = math.ceil(n_rows / n_columns)
    columns, start = [], 0
    # A last column of one or two boxes would be harder to follow than a longer one.
    for row in range(1, n_rows - _LEAST_ROWS + 1):
        if row - start >= wanted and _is_narrow(found, row):
            columns.append(range(start, row))
            start = row
    return [*columns, range(start, n_rows)]


def _is_narrow(found: Rows, row: int) -> bool:
    """Return whether all edges into a row come from a single box."""
    sources = {upper for item in found.rows[row] for upper in found.above.get(item, [])}
    return len(sources) == 1 and not any(isinstance(item, Bend) for item in sources)


def _lefts(
    found: Rows, centers: Mapping[Place, float], columns: Sequence[range]
) -> list[float]:
    """Return where each column begins, and where one more would."""
    lefts = [float(MARGIN)]
    for rows in columns:
        left, right = _extent([found.rows[row] for row in rows], centers)
        lefts.append(round(lefts[-1] + right - left + _COLUMN_GAP, 1))
    return lefts


def _middles(
    found: Rows, centers: Mapping[Place, float], rows: range, x0: float
) -> dict[Place, tuple[float, float]]:
    """Return the middles of a column's places in the picture."""
    left, _ = _extent([found.rows[row] for row in rows], centers)
    return {
        item: (
            round(x0 + centers[item] - left, 1),
            MARGIN + number * (BOX_HEIGHT + _GAP_Y) + BOX_HEIGHT / 2,
        )
        for number, row in enumerate(rows)
        for item in found.rows[row]
    }


def _edge(
    chain: Sequence[Place],
    middles: Mapping[Place, tuple[float, float]],
    gutter: float | None,
) -> Edge:
    (x0, y0), *bends, (x1, y1) = (middles[item] for item in chain)
    points = ((x0, y0 + BOX_HEIGHT / 2), *bends, (x1, y1 - BOX_HEIGHT / 2))
    return Edge(str(chain[0]), str(chain[-1]), points, gutter)


def _extent(
    rows: Sequence[Sequence[Place]], centers: Mapping[Place, float]
) -> tuple[float, float]:
    items = [item for row in rows for item in row]
    left = min(centers[item] - _width(item) / 2 for item in items)
    return left, max(centers[item] + _width(item) / 2 for item in items)


def _width(item: Place) -> float:
    return _BEND_WIDTH if isinstance(item, Bend) else BOX_WIDTH
