"""Members of a tree on lines that keep their promises, in an order made by chance.

Messages of a pair arrive in their order; of what a member sent before it died each
other gets a part of its own, and then the news.
"""

import random
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from daskdl.cluster.masters.tree_member import TreeMember

GONE = "gone"
Name = tuple[int, int]


class NamedUpdates:
    """A replica whose updates are sets of names; no name may come twice."""

    def __init__(self) -> None:
        self.in_base: frozenset[Name] = frozenset()

    def sum(self, updates: Sequence[frozenset[Name]]) -> frozenset[Name]:
        union = frozenset().union(*updates)
        assert len(union) == sum(map(len, updates))
        return union

    def take_in(self, update: frozenset[Name], own: Sequence[frozenset[Name]]) -> None:
        assert not update & self.in_base
        assert all(part <= update for part in own)
        self.in_base |= update

    def base(self, untold: Sequence[frozenset[Name]]) -> frozenset[Name]:
        assert not any(part & self.in_base for part in untold)
        return self.in_base

    def replace_base(
        self, base: frozenset[Name], untold: Sequence[frozenset[Name]]
    ) -> None:
        assert not any(part & base for part in untold)
        self.in_base = base


class TreeWorld:
    """A phase of `n` members, which tell some updates each.

    As many of all happenings as `passing_on`, from 0 to 1, are those of a member that
    waits for nobody. `crossed` counts messages from host to host.
    """

    def __init__(
        self,
        n: int,
        seed: int,
        *,
        most_told: int = 4,
        fan_out: int = 8,
        passing_on: float = 0.0,
        hosts: Mapping[int, str] | None = None,
    ):
        self.rng = random.Random(seed)
        self._passing_on = passing_on
        self.replicas = {rank: NamedUpdates() for rank in range(n)}
        self.members = {
            rank: TreeMember(
                rank, range(n), replica, self._sender(rank), fan_out, hosts
            )
            for rank, replica in self.replicas.items()
        }
        self.to_tell = {rank: self.rng.randint(1, most_told) for rank in range(n)}
        self.told = dict.fromkeys(range(n), 0)
        self.dead: set[int] = set()
        self.sent = 0
        self.crossed = 0
        self._hosts = hosts or {}
        self._lines: dict[tuple[int, int], deque[Any]] = defaultdict(deque)
        self._busy: list[tuple[int, int]] = []

    @property
    def survivors(self) -> list[int]:
        return [rank for rank in self.members if rank not in self.dead]

    def run(self, deaths: Collection[tuple[int, int]] = ()) -> None:
        """Let the phase end; `deaths` are (after how many happenings, who)."""
        due = sorted(deaths)
        happened = 0
        while happening := self._choose():
            happening()
            happened += 1
            while due and due[0][0] <= happened:
                self.kill(due.pop(0)[1])

    def deliver_all(self, to: Collection[int] | None = None) -> None:
        """Deliver what is on its way, and drop what is for others."""
        while self._busy:
            target = self._busy[-1][1]
            if to is not None and target not in to:
                self._lines[self._busy.pop()].popleft()
            else:
                self._deliver()

    def deliver(self, source: int, target: int) -> None:
        """Deliver all that one has sent to another."""
        while self._lines[source, target]:
            self._take(source, target)

    def lose(self, source: int, target: int) -> None:
        """Lose what one has sent to another, as if it died before that had gone."""
        self._lines[source, target].clear()

    def kill(self, rank: int) -> None:
        if rank in self.dead or len(self.survivors) == 1:
            return
        self.dead.add(rank)
        for other in self.survivors:
            line = self._lines[rank, other]
            for _ in range(self.rng.randint(0, len(line))):
                line.pop()
            self._put(rank, other, GONE)

    def _choose(self) -> Callable[[], None] | None:
        if self._busy and self.rng.random() < self._passing_on:
            return lambda: self.members[self.rng.choice(self.survivors)].pass_on()
        telling = [r for r in self.survivors if self.told[r] < self.to_tell[r]]
        if telling and (not self._busy or self.rng.random() < 0.2):
            return lambda: self._tell(self.rng.choice(telling))
        return self._deliver if self._busy else None

    def _tell(self, rank: int) -> None:
        self.told[rank] += 1
        number = self.told[rank]
        self.members[rank].tell(
            frozenset({(rank, number)}),
            position=number,
            ends=number == self.to_tell[rank],
        )

    def _deliver(self) -> None:
        place = self.rng.randrange(len(self._busy))
        self._busy[place], self._busy[-1] = self._busy[-1], self._busy[place]
        source, target = self._busy.pop()
        if self._lines[source, target] and target not in self.dead:
            self._take(source, target)

    def _take(self, source: int, target: int) -> None:
        line = self._lines[source, target]
        message = line.popleft()
        member = self.members[target]
        if message is GONE:
            member.left([source])
        else:
            member.receive(source, message)
        # Whoever awaits nobody returns from the phase with the base that it has.
        has_told = self.told[target] == self.to_tell[target]
        assert member.is_over or member.awaited or not has_told

    def _sender(self, rank: int) -> Callable[[int, Any], None]:
        return lambda target, message: self._put(rank, target, message)

    def _put(self, source: int, target: int, message: Any) -> None:
        self.sent += 1
        self.crossed += self._hosts.get(source) != self._hosts.get(target)
        self._lines[source, target].append(message)
        self._busy.append((source, target))
