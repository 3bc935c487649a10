"""When work is moved between members of a phase, and how much. Pure: no clock, no dask.

Members begin with equal shares. Who is about to have nothing left gets a part of what
the slowest has not begun, so that both end at the same time.
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

# Who has less to do than that is given more: reports come every half second.
SOON_S = 0.6
# The ends of two members must be that far apart before work is moved for it.
APART_S = 0.3
# Members that all end within that are told that nothing more comes, before they ask.
END_S = 0.4
# A phase that is over sooner is not worth a look.
SHORT_S = 0.5
# Speed is that of so long, and of several reports, whatever they took.
WINDOW_S = 3.0
WINDOW_REPORTS = 4


@dataclass(frozen=True)
class Move:
    """`count` minibatches from the end of one member's workload go to another."""

    source: int
    target: int
    count: int


@dataclass
class _Pace:
    total: int
    trained: int = 0
    rate: float | None = None  # minibatches a second
    is_idle: bool = False
    reports: deque[tuple[float, int]] = field(default_factory=deque)

    def left(self, now: float) -> float:
        """Return how many minibatches are left, as far as one can tell."""
        left = self.total - self.trained
        if self.is_idle or not self.rate or not self.reports:
            return 0.0 if self.is_idle else left
        # One that takes long is not done before it is reported.
        return max(left - self.rate * (now - self.reports[-1][0]), min(left, 1))

    def left_s(self, now: float) -> float:
        """Return how long they take; infinite if nothing is known."""
        left = self.left(now)
        if not left:
            return 0.0
        return left / self.rate if self.rate else float("inf")


class Balance:
    """Follow how far the members of a phase are.

    Parameters
    ----------
    totals : mapping of int to int
        Minibatches of each member, by rank.
    rates : mapping of int to float
        Minibatches a second, of members of which that is known from before.
    """

    def __init__(
        self, totals: Mapping[int, int], rates: Mapping[int, float] | None = None
    ) -> None:
        known = rates or {}
        self._paces = {
            rank: _Pace(total, rate=known.get(rank)) for rank, total in totals.items()
        }

    @property
    def rates(self) -> dict[int, float]:
        """Minibatches a second of each member of which that is known."""
        return {rank: pace.rate for rank, pace in self._paces.items() if pace.rate}

    @property
    def is_short(self) -> bool:
        """Whether the whole phase is known to be over in a moment."""
        return all(
            pace.rate and pace.total / pace.rate < SHORT_S
            for pace in self._paces.values()
        )

    def trained(
        self, rank: int, trained: int, now: float, *, is_idle: bool = False
    ) -> None:
        """Take in the report of a member.

        Parameters
        ----------
        rank, trained : int
            Of the member, and how many minibatches of the phase it has trained.
        now : float
            Seconds, on any clock that goes on.
        is_idle : bool
            Whether it has nothing left.
        """
        pace = self._paces.get(rank)
        if pace is None:
            return
        # A report may have been on its way when more came.
        pace.is_idle = is_idle and trained >= pace.total
        pace.trained = max(pace.trained, trained)
        reports = pace.reports
        reports.append((now, pace.trained))
        while len(reports) > WINDOW_REPORTS and now - reports[1][0] > WINDOW_S:
            reports.popleft()
        (first_s, first), (last_s, last) = reports[0], reports[-1]
        if last > first and last_s > first_s:
            pace.rate = (last - first) / (last_s - first_s)

    def settle(self, rank: int, total: int, *, begun: int = 0) -> None:
        """Note that the workload of a member has another length.

        Parameters
        ----------
        rank, total : int
            Of the member, and how many minibatches it has to train.
        begun : int
            How many of them it is known to have begun.
        """
        pace = self._paces[rank]
        if total > pace.total:
            pace.is_idle = False
        pace.total = total
        pace.trained = max(pace.trained, begun - 1)

    def lost(self, rank: int) -> None:
        """Go on without a member."""
        self._paces.pop(rank, None)

    def next_move(self, now: float) -> Move | None:
        """Return what is to be moved now, if anything is."""
        if len(self._paces) < 2:
            return None
        left_s = {rank: pace.left_s(now) for rank, pace in self._paces.items()}
        target = min(left_s, key=lambda rank: (left_s[rank], rank))
        source = max(left_s, key=lambda rank: (left_s[rank], -rank))
        if left_s[target] > SOON_S or left_s[source] - left_s[target] < APART_S:
            return None
        count = self._count(source, target, now)
        return Move(source, target, count) if count else None

    def is_settled(self, now: float) -> bool:
        """Whether all members end so soon that nothing is worth moving any more."""
        return all(
            pace.left(now) <= 1 or pace.left_s(now) < END_S
            for pace in self._paces.values()
        )

    @property
    def is_waiting(self) -> bool:
        """Whether somebody has nothing left, and nothing is to be moved to it."""
        return any(pace.is_idle for pace in self._paces.values())

    def left_s(self, now: float) -> float:
        """Return how long the phase lasts from now; infinite if nobody knows."""
        return max((pace.left_s(now) for pace in self._paces.values()), default=0.0)

    def _count(self, source: int, target: int, now: float) -> int:
        giver, taker = self._paces[source], self._paces[target]
        # Who has told nothing is taken to be as fast as the other.
        given = giver.rate or taker.rate or 1.0
        taken = taker.rate or given
        left, waiting = giver.left(now), taker.left(now)
        count = (left * taken - waiting * given) / (given + taken)
        # The minibatch that is being trained stays where it is.
        return max(0, min(int(count), int(left) - 1))
