"""Reports that reach the driver: of members, lost workers, failed tasks.

Reports come in on the client's event loop and are put into one queue, from which the
driver takes them in its own thread. Lost workers are found by asking the scheduler
twice a second: its topic "all" would tell sooner, but a client has one handler for it,
which may be the user's or another fit's.
"""

import queue
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from distributed import Client, Future

LOOK_EVERY_S = 0.5


@dataclass(frozen=True)
class MemberReport:
    """A member tells where it stands."""

    rank: int
    what: str  # "ready", "progress", "finished", "complaint" or "returned"
    values: Mapping[str, Any]


@dataclass(frozen=True)
class WorkerGone:
    """The scheduler removed a worker."""

    address: str


@dataclass(frozen=True)
class LeftOut:
    """A worker is there and cannot take part."""

    address: str
    reason: str


@dataclass(frozen=True)
class MemberReturned:
    """A member's task ended, and its result is there."""

    rank: int


@dataclass(frozen=True)
class MemberFailed:
    """A member's task ended with an error."""

    rank: int
    error: BaseException


DriverEvent = MemberReport | WorkerGone | LeftOut | MemberReturned | MemberFailed


class ReportQueue:
    """Collects the reports and events of one session. A context manager.

    Parameters
    ----------
    client : Client
        A synchronous client.
    topic : str
        The session's event topic.
    """

    def __init__(self, client: Client, topic: str) -> None:
        self._client = client
        self._topic = topic
        self._queue: queue.Queue[DriverEvent] = queue.Queue()
        self._looked_s = time.monotonic()

    def __enter__(self) -> "ReportQueue":
        self._client.subscribe_topic(self._topic, self._on_report)
        return self

    def __exit__(self, *error: object) -> None:
        self._client.unsubscribe_topic(self._topic)

    def watch(self, rank: int, future: Future) -> None:
        """Report it when the member's task ends, in order or with an error."""
        future.add_done_callback(lambda done: self._on_done(rank, done))

    def get(self, addresses: Iterable[str]) -> DriverEvent | None:
        """Return the next event, or None when there was none for a moment.

        Parameters
        ----------
        addresses : iterable of str
            Workers whose loss is to be told.
        """
        now = time.monotonic()
        if now - self._looked_s > LOOK_EVERY_S:
            self._looked_s = now
            there = self._client.nthreads()
            for address in addresses:
                if address not in there:
                    self._queue.put(WorkerGone(address))
        try:
            return self._queue.get(timeout=LOOK_EVERY_S)
        except queue.Empty:
            return None

    def _on_report(self, event: tuple[float, Any]) -> None:
        values = dict(event[1])
        rank, what = values.pop("rank"), values.pop("what")
        self._queue.put(MemberReport(rank, what, values))

    def _on_done(self, rank: int, future: Future) -> None:
        if future.status == "error":
            self._queue.put(MemberFailed(rank, future.exception()))
        elif future.status == "finished":
            self._queue.put(MemberReturned(rank))
