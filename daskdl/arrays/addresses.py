"""Addresses that are taken and given back, the lowest ones first."""

from bisect import bisect_left

_ENDLESS = 1 << 62


class Addresses:
    """Which of the addresses from 0 on are free.

    Attributes
    ----------
    most : int
        Behind the highest one that was ever taken.
    """

    def __init__(self) -> None:
        self.most = 0
        # Gaps in order, none empty, never two that touch; the last one has no end.
        self._starts = [0]
        self._ends = [_ENDLESS]

    def lowest(self, n: int) -> int:
        """Return the first of the lowest `n` addresses in a row that are free."""
        return self._starts[self._place(n)]

    def take(self, n: int) -> int:
        """Return what :meth:`lowest` does; they are free no more."""
        place = self._place(n)
        start = self._starts[place]
        end = start + n
        self.most = max(self.most, end)
        if end == self._ends[place]:
            del self._starts[place], self._ends[place]
        else:
            self._starts[place] = end
        return start

    def give_back(self, start: int, end: int) -> None:
        """Make the addresses from `start` to in front of `end` free again."""
        place = bisect_left(self._starts, start)
        touches_next = self._starts[place] == end
        if place and self._ends[place - 1] == start:
            self._ends[place - 1] = self._ends[place] if touches_next else end
            if touches_next:
                del self._starts[place], self._ends[place]
        elif touches_next:
            self._starts[place] = start
        else:
            self._starts.insert(place, start)
            self._ends.insert(place, end)

    def _place(self, n: int) -> int:
        place = 0
        while self._ends[place] - self._starts[place] < n:
            place += 1
        return place
