"""Which workers are free for trials. Values only: nothing is asked here."""

from collections.abc import Iterable

__all__ = ["WorkerPool"]

# How long a worker on which a trial failed stands back behind the others, each time.
STAND_BACK_S = 30.0


class WorkerPool:
    """Deals workers to trials, each to one at a time.

    Parameters
    ----------
    most : int, optional
        How many may be dealt at a time; all that are there if not given.
    """

    def __init__(self, most: int | None = None) -> None:
        self._most = most
        self._free: list[str] = []  # who waits longest is first
        self._dealt: set[str] = set()
        self._failures: dict[str, int] = {}
        self._back_at_s: dict[str, float] = {}

    def look(self, there: Iterable[str]) -> None:
        """Take notice of who came and who went."""
        now = list(there)
        known = {*self._free, *self._dealt}
        self._free = [one for one in self._free if one in now]
        self._free += [one for one in now if one not in known]

    def deal(self, count: int, now_s: float) -> tuple[str, ...]:
        """Return so many workers that are free; empty if there are not as many."""
        if self._most is not None and len(self._dealt) + count > self._most:
            return ()
        able = [one for one in self._free if self._back_at_s.get(one, 0.0) <= now_s]
        if len(able) < count:
            return ()
        dealt = tuple(able[:count])
        self._free = [one for one in self._free if one not in dealt]
        self._dealt.update(dealt)
        return dealt

    def give_back(
        self, workers: Iterable[str], now_s: float, *, has_failed: bool = False
    ) -> None:
        """Have workers free again; the next look finds out whether they are there.

        Parameters
        ----------
        workers : iterable of str
            As they were dealt.
        now_s : float
            By the clock of :meth:`deal`.
        has_failed : bool
            Whether the trial ended too early: then they stand back for a while, longer
            each time, so that one which does not answer cannot fail every trial.
        """
        for worker in workers:
            self._dealt.discard(worker)
            self._free.append(worker)
            if has_failed:
                self._failures[worker] = self._failures.get(worker, 0) + 1
                self._back_at_s[worker] = now_s + STAND_BACK_S * self._failures[worker]
