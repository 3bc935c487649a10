"""Events that come for as long as a fit runs, as many of them as a curve needs."""

from collections.abc import Iterable
from typing import TypeVar

__all__ = ["Curve"]

E = TypeVar("E")

# A curve is a page wide; a fit of days has millions of events.
_ENOUGH = 2000


class Curve(list[E]):
    """A list that takes in all events up to some thousands, then every so many.

    Those that were taken in before are thinned alike, so that all of them are about as
    far apart.

    Parameters
    ----------
    events : iterable
        Those to begin with.
    """

    def __init__(self, events: Iterable[E] = ()) -> None:
        super().__init__(events)
        self._every = 1
        self._come = 0

    def append(self, event: E) -> None:
        """Take in an event, if it is one of every so many."""
        block, place = divmod(self._come, self._every)
        self._come += 1
        # Not the same of each block: workers may tell in turn.
        if place != block % self._every:
            return
        super().append(event)
        if len(self) >= 2 * _ENOUGH:
            self[:] = self[::2]
            self._every *= 2
