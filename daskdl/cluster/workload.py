"""What one member trains in a phase: its minibatches, which the driver may move.

The thread that trains takes them one by one, another one reads ahead, and orders come
in on the worker's event loop. Whoever has begun a minibatch keeps it; all behind it may
be taken back at any moment.
"""

import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from daskdl.data.plan import Minibatch

# How often a reader that waits for more looks whether anybody still wants it.
_LOOK_AROUND_S = 0.5


class Workload:
    """The minibatches of one member in one phase. Safe between threads.

    Parameters
    ----------
    phase : int
    minibatches : sequence of Minibatch
        In the order in which they are trained.
    totals : mapping of int to int, optional
        How many each member trains, by rank, if that is settled; else it is by
        :meth:`close`.

    Attributes
    ----------
    phase : int
    totals : mapping of int to int, or None
        Likewise; None as long as more may come.
    is_stop_wanted : bool
        Whether the phase is to end as soon as all members stand at a common position.
    """

    def __init__(
        self,
        phase: int,
        minibatches: Sequence[Minibatch] = (),
        totals: Mapping[int, int] | None = None,
    ) -> None:
        self.phase = phase
        self.totals = totals
        self.is_stop_wanted = False
        self._minibatches = list(minibatches)
        self._begun = 0
        self._read = 0
        self._changes = 0
        self._is_abandoned = False
        self._changed = threading.Condition()

    def __len__(self) -> int:
        return len(self._minibatches)

    @property
    def is_closed(self) -> bool:
        """Whether no more may come."""
        return self.totals is not None

    def left_after(self, trained: int) -> dict[str, Any]:
        """Return what a member that trained so many tells the others of the rest."""
        with self._changed:
            remaining = len(self._minibatches) - trained
            return {
                "remaining": remaining,
                "may_get_more": not self.is_closed,
                "wants_stop": self.is_stop_wanted,
            }

    def begin_next(self) -> Minibatch | None:
        """Begin the next minibatch; None if there is none, or none yet."""
        with self._changed:
            if self._begun == len(self._minibatches):
                return None
            self._begun += 1
            return self._minibatches[self._begun - 1]

    def add(self, minibatches: Sequence[Minibatch]) -> None:
        """Append minibatches."""
        with self._changed:
            self._minibatches += minibatches
            self._changes += 1
            self._changed.notify_all()

    def stop_at(self, position: int) -> int:
        """Drop all minibatches from `position` on that were not begun.

        More may come then, until the next :meth:`close`.

        Returns
        -------
        int
            How many are left, begun or not.
        """
        with self._changed:
            stop = min(max(position, self._begun), len(self._minibatches))
            del self._minibatches[stop:]
            self._changes += 1
            self._read = min(self._read, stop)
            self.totals = None
            return stop

    def close(self, totals: Mapping[int, int]) -> None:
        """Settle how many each member trains."""
        with self._changed:
            self.totals = dict(totals)
            self._changed.notify_all()

    def end(self) -> None:
        """Drop all minibatches that were not begun, and let no more come."""
        with self._changed:
            del self._minibatches[self._begun :]
            self._changes += 1
            self._read = min(self._read, self._begun)
            self.totals = {}
            self._changed.notify_all()

    def abandon(self) -> None:
        """Let the reader go: nobody trains any more."""
        with self._changed:
            self._is_abandoned = True
            self._changed.notify_all()

    def to_read(self) -> Iterator[tuple[Minibatch, list[Minibatch] | None]]:
        """Yield what is to be read next; waits for more at the end, until it is closed.

        What was read and then taken back may come again.

        Yields
        ------
        Minibatch
        list of Minibatch, or None
            All that is to be read from here on, if that has changed.
        """
        known = -1
        while True:
            with self._changed:
                while self._read == len(self._minibatches) and self._may_get_more():
                    self._changed.wait(_LOOK_AROUND_S)
                if self._is_abandoned or self._read == len(self._minibatches):
                    return
                is_news, known = known != self._changes, self._changes
                behind = self._minibatches[self._read :] if is_news else None
                minibatch = self._minibatches[self._read]
                self._read += 1
            yield minibatch, behind

    def _may_get_more(self) -> bool:
        # The main thread ends before the interpreter waits for a thread that reads.
        is_alive = threading.main_thread().is_alive()
        return not self.is_closed and not self._is_abandoned and is_alive
