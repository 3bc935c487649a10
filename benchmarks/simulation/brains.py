"""What a simulated worker learns and tells: a stand-in that has sizes only.

The one that has a network is in :mod:`benchmarks.simulation.learner`.
"""

from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from benchmarks.simulation.setting import Setting
from daskdl.cluster.masters.gradient_sharing import MOST_LATE
from daskdl.cluster.masters.tree_messages import Mark, Marks, Replica


class Brain(Protocol):
    """What gradient sharing asks of a worker's network and of its rule.

    An update is whatever :meth:`share` returned; :meth:`n_bytes` knows its size.
    """

    def begin(self, peers: frozenset[int]) -> None:
        """Start a phase with these peers."""

    def learn(self) -> None:
        """Train the next minibatch; the update is the worker's own."""

    def propose(self) -> Any | None:
        """Return what is to be agreed on before the first update is shared."""

    @property
    def undecided(self) -> frozenset[int]:
        """Peers that may yet propose."""

    def receive_proposal(self, rank: int, proposal: Any) -> None:
        """Note what a peer proposes."""

    def agree(self, own: Any) -> None:
        """Agree on what all proposed."""

    def share(self, position: int) -> Any | None:
        """Take an update out of what was learned."""

    def end(self, position: int) -> Any | None:
        """Return what else is to be told at the end of a phase."""

    def receive(self, rank: int, position: int, update: Any, *, ends: bool) -> None:
        """Take in what a peer told."""

    def note(self, marks: Marks) -> None:
        """Note how far the peers are whose updates came over the tree."""

    def is_waited_for(self, position: int) -> bool:
        """Whether a peer is a little behind."""

    @property
    def waiting_for(self) -> frozenset[int]:
        """Peers that have not ended the phase."""

    def left(self, rank: int) -> None:
        """Go on without a peer."""

    def conclude(self, position: int) -> None:
        """End the phase."""

    def n_bytes(self, update: Any) -> int:
        """Return the size of an update."""

    @property
    def positions(self) -> Mapping[int, int]:
        """Minibatches of each peer that are known here."""

    @property
    def replica(self) -> Replica:
        """What a tree sees."""


class StandIn:
    """No network and no arithmetic: updates are their sizes.

    Parameters
    ----------
    rank : int
        Of the worker.
    setting : Setting
        Tells the size of an update, and of a dense one.

    Notes
    -----
    A sum is as long as its parts until it is as long as a dense update: as if no two
    members sent the same element.
    """

    undecided: frozenset[int] = frozenset()

    def __init__(self, rank: int, setting: Setting) -> None:
        self._rank = rank
        self._update = int(setting.message_kib * 1024)
        self._dense = 4 * setting.n_params
        self._positions: dict[int, int] = {}
        self._behind: Counter[int] = Counter()  # peers by position
        self._waiting_for: set[int] = set()

    def begin(self, peers: frozenset[int]) -> None:
        """Start a phase with these peers."""
        self._positions = dict.fromkeys(peers, 0)
        self._behind = Counter({0: len(peers)})
        self._waiting_for = set(peers)

    def learn(self) -> None:
        """Learn nothing."""

    def propose(self) -> None:
        """Propose nothing: the threshold is known."""

    def receive_proposal(self, rank: int, proposal: Any) -> None:
        """Nobody proposes."""

    def agree(self, own: Any) -> None:
        """Nobody proposes."""

    def share(self, position: int) -> int:
        """Take an update out of what was learned."""
        return self._update

    def end(self, position: int) -> None:
        """Add nothing: what is left of a long phase stays in the residual."""

    def receive(self, rank: int, position: int, update: Any, *, ends: bool) -> None:
        """Take in what a peer told."""
        if rank in self._waiting_for:
            self._behind[self._positions[rank]] -= 1
            self._behind[position] += 1
            self._positions[rank] = position
            if ends:
                self.left(rank)

    def note(self, marks: Marks) -> None:
        """Note nothing: see :class:`TreeStandIn`."""

    def is_waited_for(self, position: int) -> bool:
        """Whether a peer is a little behind."""
        delays = range(1, MOST_LATE + 1)
        return any(self._behind[position - late] for late in delays)

    @property
    def waiting_for(self) -> frozenset[int]:
        """Peers that have not ended the phase."""
        return frozenset(self._waiting_for)

    def left(self, rank: int) -> None:
        """Go on without a peer."""
        if rank in self._waiting_for:
            self._waiting_for.discard(rank)
            self._behind[self._positions[rank]] -= 1

    def conclude(self, position: int) -> None:
        """Keep nothing."""

    def n_bytes(self, update: Any) -> int:
        """Return the size of an update."""
        return update or 0

    @property
    def positions(self) -> Mapping[int, int]:
        """Minibatches of each peer that are known here."""
        return self._positions

    @property
    def replica(self) -> Replica:
        """What a tree sees."""
        return self

    def sum(self, updates: Sequence[int]) -> int:
        """Return one update for several."""
        return min(sum(updates), self._dense)

    def take_in(self, update: int, own: Sequence[int]) -> None:
        """Take in nothing."""

    def base(self, untold: Sequence[int]) -> int:
        """Return the base, which `untold` are not in."""
        return self._dense

    def replace_base(self, base: int, untold: Sequence[int]) -> None:
        """Take in nothing."""


class TreeStandIn(StandIn):
    """The same over a tree, where thousands of members know the same marks.

    Parameters
    ----------
    rank, setting
        As of :class:`StandIn`.
    behind : callable
        Counts the members that have not ended by their positions.
    """

    def __init__(
        self, rank: int, setting: Setting, behind: Callable[[Marks], Counter[int]]
    ) -> None:
        super().__init__(rank, setting)
        self._count = behind
        self._marks: Marks = {}
        self._apart = {rank}  # ourselves, and who is gone
        self._n_members = 0

    def begin(self, peers: frozenset[int]) -> None:
        """Start a phase with these peers."""
        self._marks = {}
        self._apart = {self._rank}
        self._n_members = len(peers) + 1

    def note(self, marks: Marks) -> None:
        """Note how far the peers are whose updates came over the tree."""
        self._marks = marks

    def left(self, rank: int) -> None:
        """Go on without a peer."""
        self._apart.add(rank)

    def is_waited_for(self, position: int) -> bool:
        """Whether a peer is a little behind."""
        behind = Counter(self._count(self._marks))
        behind[0] += self._n_members - len(self._marks)
        for rank in self._apart:
            mark = self._marks.get(rank, Mark())
            behind[mark.position] -= not mark.ends
        delays = range(1, MOST_LATE + 1)
        return any(behind[position - late] > 0 for late in delays)

    @property
    def positions(self) -> Mapping[int, int]:
        """Minibatches of each peer that are known here."""
        return {rank: mark.position for rank, mark in self._marks.items()}


class Positions:
    """Counts the positions of marks, those of the last few only once."""

    def __init__(self) -> None:
        self._counted: deque[tuple[Marks, Counter[int]]] = deque(maxlen=8)

    def __call__(self, marks: Marks) -> Counter[int]:
        """Return how many members that have not ended are at each position."""
        for known, counted in self._counted:
            if known is marks:
                return counted
        counted = Counter(m.position for m in marks.values() if not m.ends)
        self._counted.append((marks, counted))
        return counted
