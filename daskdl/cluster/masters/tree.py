"""Who passes messages on to whom where many workers share: a tree of members. Pure.

The members of a phase decide it, so that nobody negotiates: in the order of their ranks
they fill it row by row. Who is gone is bridged: its children are those of the nearest
member above that is alive or, if there is none, of the first member that is alive.
"""

from collections.abc import Iterable, Iterator
from functools import cache, lru_cache

from daskdl.checks import check_count

# A member with more sends more messages than it makes; one with fewer has a deeper tree
# and sees updates later.
FAN_OUT = 8


class Tree:
    """The members of a phase, and who of them is gone.

    Parameters
    ----------
    ranks : iterable of int
        The members.
    fan_out : int
        Children of a member while nobody is gone, at least 1.

    Raises
    ------
    OptionError
        When `fan_out` is no positive integer.
    """

    def __init__(self, ranks: Iterable[int], fan_out: int = FAN_OUT) -> None:
        check_count("Tree", "fan_out", fan_out)
        self._ranks, self._places = _in_order(frozenset(ranks))
        self._fan_out = fan_out
        self._gone: set[int] = set()
        self._root_place = 0
        self._forget()

    @property
    def gone(self) -> frozenset[int]:
        """The members that are gone."""
        return frozenset(self._gone)

    @property
    def root(self) -> int:
        """The first member that is alive."""
        return self._ranks[self._root_place]

    @property
    def alive(self) -> list[int]:
        """The members that are not gone, in the order of ranks."""
        return [rank for rank in self._ranks if rank not in self._gone]

    def lose(self, ranks: Iterable[int]) -> None:
        """Note that members are gone; one of all must stay."""
        self._gone |= set(ranks) & self._places.keys()
        while self.root in self._gone:
            self._root_place += 1
        self._forget()

    def parent(self, rank: int) -> int | None:
        """Return whom a member passes messages up to; None for the root."""
        place = self._places[rank]
        while place:
            place = (place - 1) // self._fan_out
            if self._ranks[place] not in self._gone:
                return self._ranks[place]
        return None if rank == self.root else self.root

    def neighbour(self, rank: int, other: int) -> int | None:
        """Return through whom a member gets what another one, not itself, tells."""
        if other not in self.below(rank):
            return self.parent(rank)
        while (parent := self.parent(other)) not in (rank, None):
            other = parent
        return other

    def _forget(self) -> None:
        self.children = cache(self._children)
        self.below = cache(self._below)

    def _children(self, rank: int) -> tuple[int, ...]:
        """Return whom a member passes messages down to."""
        found = self._nearest(self._places[rank])
        if rank != self.root or not self._root_place:
            return tuple(found)
        orphans = self._nearest(0)
        return tuple(sorted({*found, *orphans} - {rank}))

    def _nearest(self, place: int) -> Iterator[int]:
        """Yield those below a place that have nobody between them who is alive."""
        first = place * self._fan_out + 1
        for below in range(first, min(first + self._fan_out, len(self._ranks))):
            if self._ranks[below] in self._gone:
                yield from self._nearest(below)
            else:
                yield self._ranks[below]

    def _below(self, rank: int) -> tuple[int, ...]:
        """Return all members whose messages go up through this one."""
        children = self.children(rank)
        return children + tuple(far for near in children for far in self.below(near))


# Thousands of members in one process, as in a simulation, share both.
@lru_cache(maxsize=4)
def _in_order(ranks: frozenset[int]) -> tuple[list[int], dict[int, int]]:
    in_order = sorted(ranks)
    return in_order, {rank: place for place, rank in enumerate(in_order)}
