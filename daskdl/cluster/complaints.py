"""Members that no longer hear each other: who is to go, so that the others go on.

Pure. The scheduler may hear everyone where two workers do not hear each other, and
then knows of no fault. But whoever waits for a peer tells the driver, which asks here.
"""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True)
class Complaint:
    """A member has heard nothing from these peers for too long.

    Attributes
    ----------
    silent : frozenset of int
        Ranks.
    stage : tuple of int
        The phase, and how often all have waited for all in it.
    """

    silent: frozenset[int]
    stage: tuple[int, ...]


# Whoever hears of the one that has just gone takes its complaint back within moments.
LEAST_AGE_S = 1.0


class Complaints:
    """Collects complaints until it is clear who must go.

    Parameters
    ----------
    patience_s : float
        How long the complaints of others are waited for, after the first one.
    """

    def __init__(self, patience_s: float) -> None:
        self._patience_s = patience_s
        self._since_s = 0.0
        self._complaints: dict[int, Complaint] = {}

    def take(self, rank: int, complaint: Complaint, now_s: float) -> None:
        """Take in what member `rank` says; its last word counts, also of nobody."""
        if not complaint.silent:
            self._complaints.pop(rank, None)
            return
        if not self._complaints:
            self._since_s = now_s
        self._complaints[rank] = complaint

    def verdict(self, members: Collection[int], now_s: float) -> int | None:
        """Return the member that must go, and forget all complaints; or None.

        It is the one with which the most others are at odds; of several, the one of the
        highest rank. Whoever waits because its peer waits for a third one says the
        same: so only those count that have got least far.
        """
        odds = self._at_odds(members)
        age_s = now_s - self._since_s
        if not odds or age_s < LEAST_AGE_S:
            return None
        accused = {rank for pair in odds for rank in pair}
        others = accused.union(members) - self._accused()
        if others - self._complaints.keys() and age_s < self._patience_s:
            return None
        self._complaints.clear()
        counts = Counter(rank for pair in odds for rank in pair)
        return max(counts, key=lambda rank: (counts[rank], rank))

    def _accused(self) -> set[int]:
        return {rank for each in self._complaints.values() for rank in each.silent}

    def _at_odds(self, members: Collection[int]) -> set[frozenset[int]]:
        """Return the pairs of members that do not hear each other."""
        found = {
            rank: each
            for rank, each in self._complaints.items()
            if rank in members and each.silent & {*members}
        }
        least = min((each.stage for each in found.values()), default=())
        return {
            frozenset((rank, peer))
            for rank, each in found.items()
            if each.stage == least
            for peer in each.silent
            if peer in members
        }
