"""Who passes messages on to whom where many workers share: a tree of members. Pure.

The members of a phase decide it with the hosts that they are on, so that nobody
negotiates. One member of each host speaks for it, the first of its ranks that is alive:
the others of the host are below it, and it is below the speaker of another host. Both
trees are filled row by row, in the order of ranks; how who is gone is bridged is told
in :mod:`~daskdl.cluster.masters.rows`. See design 0048.
"""

from collections.abc import Iterable, Mapping
from functools import cache, lru_cache

from daskdl.checks import check_count
from daskdl.cluster.masters.rows import Rows

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
        Children of a member on its own host, and of the speaker of a host on others,
        while nobody is gone, at least 1.
    hosts : mapping of int to str, optional
        The host of each member; those that are not in it are on one more, together.

    Raises
    ------
    OptionError
        When `fan_out` is no positive integer.
    """

    def __init__(
        self,
        ranks: Iterable[int],
        fan_out: int = FAN_OUT,
        hosts: Mapping[int, str] | None = None,
    ) -> None:
        check_count("Tree", "fan_out", fan_out)
        named = frozenset((hosts or {}).items())
        self._ranks, self._seats = _by_host(frozenset(ranks), named)
        self._fan_out = fan_out
        self._gone: set[int] = set()
        self._hosts = Rows(len(self._ranks), fan_out)
        self._members: dict[int, Rows] = {}  # by host
        self._forget()

    @property
    def gone(self) -> frozenset[int]:
        """The members that are gone."""
        return frozenset(self._gone)

    @property
    def root(self) -> int:
        """The first member that is alive: of its host, the first that has any."""
        return self._speaker(self._hosts.first)

    @property
    def alive(self) -> list[int]:
        """The members that are not gone, each behind those above it."""
        return [rank for rank in self._seats if rank not in self._gone]

    @property
    def reign(self) -> int:
        """How many members came before the root in the order of succession."""
        before = sum(map(len, self._ranks[: self._hosts.first]))
        return before + self._rows(self._hosts.first).first

    def lose(self, ranks: Iterable[int]) -> None:
        """Note that members are gone; one of all must stay."""
        for rank in self._seats.keys() & set(ranks) - self._gone:
            host, place = self._seats[rank]
            rows = self._rows(host)
            rows.lose(place)
            if rows.is_empty:
                self._hosts.lose(host)
            self._gone.add(rank)
        self._forget()

    def parent(self, rank: int) -> int | None:
        """Return whom a member passes messages up to; None for the root."""
        host, place = self._seats[rank]
        above = self._rows(host).parent(place)
        if above is not None:
            return self._ranks[host][above]
        host_above = self._hosts.parent(host)
        return None if host_above is None else self._speaker(host_above)

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
        """Return whom a member passes messages down to, those far away first."""
        host, place = self._seats[rank]
        rows, ranks = self._rows(host), self._ranks[host]
        near = tuple(ranks[below] for below in rows.children(place))
        if place != rows.first:
            return near
        return (*map(self._speaker, self._hosts.children(host)), *near)

    def _below(self, rank: int) -> tuple[int, ...]:
        """Return all members whose messages go up through this one."""
        children = self.children(rank)
        return children + tuple(far for near in children for far in self.below(near))

    def _speaker(self, host: int) -> int:
        return self._ranks[host][self._rows(host).first]

    def _rows(self, host: int) -> Rows:
        # Made when they are looked at: nobody looks at all hosts of a simulation.
        if host not in self._members:
            self._members[host] = Rows(len(self._ranks[host]), self._fan_out)
        return self._members[host]


# Thousands of members in one process, as in a simulation, share both.
@lru_cache(maxsize=4)
def _by_host(
    ranks: frozenset[int], hosts: frozenset[tuple[int, str]]
) -> tuple[list[list[int]], dict[int, tuple[int, int]]]:
    """Return the ranks of each host, and where each rank is in that: host and place.

    Hosts stand in the order of their first ranks, and ranks in that of succession.
    """
    named = dict(hosts)
    by_host: dict[str | None, list[int]] = {}
    for rank in sorted(ranks):
        by_host.setdefault(named.get(rank), []).append(rank)
    in_order = [*by_host.values()]
    seats = {
        rank: (host, place)
        for host, members in enumerate(in_order)
        for place, rank in enumerate(members)
    }
    return in_order, seats
