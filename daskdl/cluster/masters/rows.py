"""Places that fill a tree row by row, and how those that are gone are bridged. Pure.

The children of who is gone are those of the nearest place above that is alive or, if
there is none, of the first place that is alive. So only those whose parent has gone get
another one.
"""

from collections.abc import Iterator


class Rows:
    """Places 0, 1, 2, ... of a tree, of which some are gone.

    Parameters
    ----------
    n : int
        How many there are, at least 1.
    fan_out : int
        Children of a place while none is gone, at least 1.

    Attributes
    ----------
    first : int
        The first place that is alive; `n` if none is. It has no parent.
    """

    def __init__(self, n: int, fan_out: int) -> None:
        self.first = 0
        self._n = n
        self._fan_out = fan_out
        self._gone: set[int] = set()

    @property
    def is_empty(self) -> bool:
        """Whether all are gone."""
        return self.first == self._n

    def lose(self, place: int) -> None:
        """Note that a place is gone."""
        self._gone.add(place)
        while self.first in self._gone:
            self.first += 1

    def parent(self, place: int) -> int | None:
        """Return the place above one that is alive; None for the first."""
        above = place
        while above:
            above = (above - 1) // self._fan_out
            if above not in self._gone:
                return above
        return None if place == self.first else self.first

    def children(self, place: int) -> list[int]:
        """Return the places below one that is alive, in their order."""
        found = [*self._nearest(place)]
        if place != self.first or not place:
            return found
        return sorted({*found, *self._nearest(0)} - {place})

    def _nearest(self, place: int) -> Iterator[int]:
        """Yield those below a place that have nobody between them who is alive."""
        first = place * self._fan_out + 1
        for below in range(first, min(first + self._fan_out, self._n)):
            if below in self._gone:
                yield from self._nearest(below)
            else:
                yield below
