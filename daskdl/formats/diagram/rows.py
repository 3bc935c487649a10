"""In which row of a picture the vertices of a graph stand, and in which order. Pure.

References
----------
Sugiyama, Tagawa and Toda, *Methods for Visual Understanding of Hierarchical System
Structures*, 1981: rows by depth, bends where edges pass rows, and the order in a row by
the means of the neighbours' places.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

__all__ = ["Bend", "Place", "Rows", "rows_of"]

# Down and up; more sweeps hardly ever take another crossing away.
_SWEEPS = 8


@dataclass(frozen=True)
class Bend:
    """Point where an edge passes a row in which neither of its ends stands.

    Parameters
    ----------
    source, target : str
        The ends of the edge.
    row : int
        The row it passes.
    """

    source: str
    target: str
    row: int


Place = str | Bend


@dataclass
class Rows:
    """A graph in rows.

    Attributes
    ----------
    rows : list of list of (str or Bend)
        From top to bottom, each from left to right.
    above, below : dict of place to list of places
        Neighbours one row up and one row down.
    """

    rows: list[list[Place]]
    above: dict[Place, list[Place]] = field(default_factory=dict)
    below: dict[Place, list[Place]] = field(default_factory=dict)

    def chain(self, source: str, target: str) -> list[Place]:
        """Return the places of an edge: its ends, and its bends between them."""
        places: list[Place] = [source]
        following: Place = source
        while following != target:
            following = next(
                place
                for place in self.below[following]
                if place == target
                or (
                    isinstance(place, Bend)
                    and (place.source, place.target) == (source, target)
                )
            )
            places.append(following)
        return places


def rows_of(reads: Mapping[str, Sequence[str]]) -> Rows:
    """Return the rows of a graph.

    Parameters
    ----------
    reads : mapping of str to sequence of str
        For each vertex those it reads, in an order in which each comes behind what it
        reads. Network inputs read nothing.

    Notes
    -----
    A vertex stands below all that it reads, as high as it can. Takes time in proportion
    to the places (vertices and bends) times the neighbours of one.
    """
    depth: dict[str, int] = {}
    for name, sources in reads.items():
        depth[name] = max((depth[source] + 1 for source in sources), default=0)
    found = Rows([[] for _ in range(max(depth.values()) + 1)])
    for name in reads:
        found.rows[depth[name]].append(name)
    for name, sources in reads.items():
        for source in dict.fromkeys(sources):
            _join(found, source, name, depth)
    for sweep in range(_SWEEPS):
        _sweep(found, downwards=sweep % 2 == 0)
    return found


def _join(found: Rows, source: str, target: str, depth: Mapping[str, int]) -> None:
    """Add an edge, with a bend in each row that it passes."""
    upper: Place = source
    for row in range(depth[source] + 1, depth[target] + 1):
        lower: Place = target
        if row < depth[target]:
            lower = Bend(source, target, row)
            found.rows[row].append(lower)
        found.below.setdefault(upper, []).append(lower)
        found.above.setdefault(lower, []).append(upper)
        upper = lower


def _sweep(found: Rows, *, downwards: bool) -> None:
    """Order each row by the mean place of the neighbours in the row before it."""
    rows = found.rows if downwards else found.rows[::-1]
    neighbours = found.above if downwards else found.below
    for before, row in itertools.pairwise(rows):
        index = {place: number for number, place in enumerate(before)}
        means = {
            place: _mean([index[other] for other in neighbours[place]])
            if neighbours.get(place)
            else float(number)
            for number, place in enumerate(row)
        }
        row.sort(key=means.__getitem__)


def _mean(values: Sequence[int]) -> float:
    return sum(values) / len(values)
