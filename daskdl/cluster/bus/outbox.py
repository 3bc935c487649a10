"""Messages kept for one subscriber: waiting, on their way, to be repeated.

No connection is known here, so that every order of acknowledgements and breaks can be
tested without one. The publishing thread fills the outbox and the event loop empties
it; both hold the topic's lock.
"""

import threading
from collections import deque
from collections.abc import Callable

from daskdl.cluster.bus.frames import NumberedParcel
from daskdl.cluster.bus.payload import Parcel
from daskdl.cluster.bus.protocol import (
    BATCH_BYTES,
    LEAST_WINDOW_MESSAGES,
    WINDOW_BYTES,
    WINDOW_MESSAGES,
)
from daskdl.cluster.bus.stats import TopicStats


class Outbox:
    """A bounded queue followed by a window of unacknowledged messages.

    Parameters
    ----------
    changed : threading.Condition
        The topic's lock. Notified when room is made.
    stats : TopicStats
        Where to count.
    max_messages, max_bytes : int
        Bounds of the queue. One message is always allowed, however large it is.
    """

    def __init__(
        self,
        changed: threading.Condition,
        stats: TopicStats,
        *,
        max_messages: int,
        max_bytes: int,
    ) -> None:
        self.changed = changed
        self._stats = stats
        self._max_messages = max_messages
        self._max_bytes = max_bytes
        self._waiting: deque[Parcel] = deque()
        self._waiting_bytes = 0
        self._in_flight: deque[NumberedParcel] = deque()
        self._in_flight_bytes = 0
        self._again: deque[NumberedParcel] = deque()
        self._last_number = 0

    @property
    def backlog(self) -> int:
        """Messages that are not acknowledged."""
        return len(self._waiting) + len(self._in_flight)

    @property
    def queued_bytes(self) -> int:
        """Bytes that are kept: waiting and unacknowledged."""
        return self._waiting_bytes + self._in_flight_bytes

    def has_room(self, nbytes: int) -> bool:
        """Return whether a message of this size may be put without breaking a bound."""
        if not self._waiting:
            return True
        fits = self._waiting_bytes + nbytes <= self._max_bytes
        return fits and len(self._waiting) < self._max_messages

    def put(self, parcel: Parcel) -> None:
        """Append a message, whether there is room or not."""
        with self.changed:
            self._waiting.append(parcel)
            self._waiting_bytes += parcel.nbytes
            peak = max(self._stats.peak_queued_bytes, self.queued_bytes)
            self._stats.peak_queued_bytes = peak

    def own(self, parcel: Parcel, copy: Parcel) -> None:
        """Keep a copy of the newest message, if that is still waiting."""
        with self.changed:
            if self._waiting and self._waiting[-1] is parcel:
                self._waiting[-1] = copy

    def lies(self, number: int, parcel: Parcel) -> None:
        """Keep the newest message on its way as it lies where its reader finds it.

        Until it is acknowledged; so nobody need copy it who publishes it.
        """
        with self.changed:
            if self._in_flight and self._in_flight[-1][0] == number:
                self._in_flight[-1] = (number, parcel)

    def drop_for(self, nbytes: int) -> None:
        """Give up the oldest waiting messages until one of this size has room."""
        with self.changed:
            while not self.has_room(nbytes):
                self._waiting_bytes -= self._waiting.popleft().nbytes
                self._stats.dropped += 1

    def take_waiting(self) -> list[Parcel]:
        """Remove and return all waiting messages."""
        with self.changed:
            parcels = list(self._waiting)
            self._waiting.clear()
            self._waiting_bytes = 0
            return parcels

    def put_back(self, parcels: list[Parcel]) -> None:
        """Undo :meth:`take_waiting`."""
        with self.changed:
            self._waiting.extendleft(reversed(parcels))
            self._waiting_bytes += sum(parcel.nbytes for parcel in parcels)

    def next_batch(self) -> list[NumberedParcel]:
        """Return the messages to write now: first those to repeat, then new ones."""
        with self.changed:
            if self._again:
                return self._repeat()
            batch = self._advance()
            if batch:
                self.changed.notify_all()
            return batch

    @property
    def has_pending(self) -> bool:
        """Whether a message waits for a connection, or to be repeated."""
        return bool(self._again or self._waiting)

    def next_one(self, takes: Callable[[Parcel], bool]) -> NumberedParcel | None:
        """Return the message to hand over now, if it may be on its way and is taken.

        Parameters
        ----------
        takes : callable
            Whether the one that would be next is taken.
        """
        with self.changed:
            if self._again:
                return self._again.popleft() if takes(self._again[0][1]) else None
            if not self._waiting or not self._window_open():
                return None
            if not takes(self._waiting[0]):
                return None
            self.changed.notify_all()
            return self._send_next()

    def acknowledge(self, number: int) -> None:
        """Forget the messages up to `number`."""
        with self.changed:
            while self._in_flight and self._in_flight[0][0] <= number:
                self._in_flight_bytes -= self._in_flight.popleft()[1].nbytes
            self.changed.notify_all()

    def resume_after(self, number: int) -> None:
        """Start a new connection whose receiver has the messages up to `number`."""
        with self.changed:
            self.acknowledge(number)
            self._again = deque(self._in_flight)

    def _repeat(self) -> list[NumberedParcel]:
        batch: list[NumberedParcel] = []
        size = 0
        while self._again and size < BATCH_BYTES:
            batch.append(self._again.popleft())
            size += batch[-1][1].nbytes
        return batch

    def _advance(self) -> list[NumberedParcel]:
        batch: list[NumberedParcel] = []
        size = 0
        while self._waiting and size < BATCH_BYTES and self._window_open():
            batch.append(self._send_next())
            size += batch[-1][1].nbytes
        return batch

    def _send_next(self) -> NumberedParcel:
        parcel = self._waiting.popleft()
        self._last_number += 1
        self._waiting_bytes -= parcel.nbytes
        self._in_flight_bytes += parcel.nbytes
        self._in_flight.append((self._last_number, parcel))
        self._stats.messages_sent += parcel.payload is not None
        self._stats.bytes_sent += parcel.nbytes
        return self._in_flight[-1]

    def _window_open(self) -> bool:
        if len(self._in_flight) < LEAST_WINDOW_MESSAGES:
            return True
        fits = self._in_flight_bytes < WINDOW_BYTES
        return fits and len(self._in_flight) < WINDOW_MESSAGES
