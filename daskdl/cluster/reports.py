"""Reports that reach the driver: of members, and of their tasks.

They come in on the client's event loop and are put into one queue, from which the
driver takes them in its own thread. Of lost workers the scheduler's topic "all" would
tell, but a client has one handler for it, which may be the user's or another fit's.
"""

import queue
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from distributed import Client, Future

WAIT_S = 0.5


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

    def __enter__(self) -> "ReportQueue":
        self._client.subscribe_topic(self._topic, self._on_report)
        return self

    def __exit__(self, *error: object) -> None:
        self._client.unsubscribe_topic(self._topic)

    def watch(self, rank: int, future: Future) -> None:
        """Report it when the member's task ends, in order or with an error."""
        future.add_done_callback(lambda done: self._on_done(rank, done))

    def tell_gone(self, addresses: Iterable[str]) -> None:
        """Report workers that went, behind what they reported."""
        for address in addresses:
            self._queue.put(WorkerGone(address))

    def get(self) -> DriverEvent | None:
        """Return the next event, or None when there was none for a moment."""
        try:
            return self._queue.get(timeout=WAIT_S)
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
