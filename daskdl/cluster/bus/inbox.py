"""Messages that were received and not yet taken."""

import threading
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

from daskdl.cluster.bus.messages import Joined, Left
from daskdl.cluster.bus.payload import Parcel
from daskdl.cluster.bus.stats import TopicStats


@dataclass(frozen=True)
class Received:
    """A parcel and the member it came from; unpickled when it is taken."""

    source: str
    parcel: Parcel


Entry = Received | Joined | Left


class Inbox:
    """Events in the order of their arrival.

    The event loop fills it. It never refuses: a connection that finds it full after a
    delivery reads no further until something was taken. So it holds at most its limit
    and one batch (1 MiB, or one message) for each publisher.

    Parameters
    ----------
    changed : threading.Condition
        The topic's lock. Notified on every arrival.
    stats : TopicStats
        Where to count.
    max_bytes : int
        From here on it is full.
    """

    def __init__(
        self, changed: threading.Condition, stats: TopicStats, *, max_bytes: int
    ) -> None:
        self.changed = changed
        self._stats = stats
        self._max_bytes = max_bytes
        self._entries: deque[Entry] = deque()
        self._nbytes = 0
        self._discards = False
        self.arrivals = 0

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def is_full(self) -> bool:
        """Whether publishers have to wait."""
        return self._nbytes >= self._max_bytes

    def put(self, entries: Iterable[Entry]) -> None:
        """Append received entries."""
        with self.changed:
            if self._discards:
                return
            for entry in entries:
                self._entries.append(entry)
                self.arrivals += 1
                if isinstance(entry, Received):
                    self._nbytes += entry.parcel.nbytes
                    self._stats.messages_received += 1
                    self._stats.bytes_received += entry.parcel.nbytes
            peak = max(self._stats.peak_inbox_bytes, self._nbytes)
            self._stats.peak_inbox_bytes = peak
            self.changed.notify_all()

    def take(self) -> Entry | None:
        """Remove and return the oldest event; None when there is none."""
        with self.changed:
            if not self._entries:
                return None
            entry = self._entries.popleft()
            if isinstance(entry, Received):
                self._nbytes -= entry.parcel.nbytes
            return entry

    def discard(self) -> None:
        """Drop all entries, and those that will be received."""
        with self.changed:
            self._discards = True
            self._entries.clear()
            self._nbytes = 0
