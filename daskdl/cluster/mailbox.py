"""A worker's mailbox: orders of its sessions until their tasks take them.

Orders come in on the worker's event loop while the task thread trains; nothing here
blocks the loop. Everything hangs on a session id, so that two fits can share a worker.
"""

import queue
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from distributed.diagnostics.plugin import WorkerPlugin

from daskdl.cluster.orders import (
    ClosePhase,
    MemberGone,
    MoreWork,
    Order,
    Stop,
    TrainPhase,
)
from daskdl.cluster.workload import Workload
from daskdl.data.sources.partition import Partition
from daskdl.errors import BusClosedError, StepTimeoutError
from daskdl.nn.network import Network

if TYPE_CHECKING:
    from daskdl.cluster.exchange import ClusterExchange

PLUGIN_NAME = "daskdl-sessions-1"  # ends with the protocol's version
# Sessions that were stopped before their task began; it begins within seconds or never.
REMEMBERED_STOPS = 64


class Mailbox:
    """The orders of one session on one worker. Safe between threads.

    Attributes
    ----------
    network : Network or None
        The network in training, for whoever asks for a snapshot between two phases.
    exchange : ClusterExchange or None
        The exchange of its updates, likewise.
    partitions : dict of int to Partition
        Those that the session's orders brought.
    workload : Workload
        What is to be trained in the phase that was ordered last.
    """

    def __init__(self) -> None:
        self.network: Network[Any] | None = None
        self.exchange: ClusterExchange | None = None
        self.partitions: dict[int, Partition] = {}
        self.workload = Workload(-1)
        self._orders: queue.Queue[Order] = queue.Queue()
        self._gone: set[int] = set()
        self._stop: str | None = None

    @property
    def gone(self) -> frozenset[int]:
        """Ranks that the driver knows to be gone."""
        return frozenset(self._gone)

    def put(self, order: Order) -> None:
        """Take an order in; a stop overtakes all others.

        Whoever trains takes its next order when the phase has ended: what changes the
        phase itself is done here.
        """
        if isinstance(order, MemberGone):
            self._gone.add(order.rank)
            return
        if isinstance(order, TrainPhase | MoreWork):
            self.partitions.update(order.partitions)
        if isinstance(order, MoreWork | ClosePhase):
            self._change_workload(order)
            return
        if isinstance(order, TrainPhase):
            self.workload = Workload(order.phase, order.minibatches, order.totals)
        if isinstance(order, Stop):
            self._stop = order.reason
        self._orders.put(order)

    def stop_at(self, phase: int, position: int) -> int | None:
        """Take back what was not begun; see :meth:`Workload.stop_at`.

        None if the member is in another phase.
        """
        if self.workload.phase != phase:
            return None
        return self.workload.stop_at(position)

    def _change_workload(self, order: MoreWork | ClosePhase) -> None:
        if self.workload.phase != order.phase:
            return
        if isinstance(order, MoreWork):
            self.workload.add(order.minibatches)
        else:
            self.workload.close(order.totals)

    def check_stop(self) -> None:
        """Raise BusClosedError if the session was stopped."""
        if self._stop is not None:
            raise BusClosedError(f"Session: stopped, {self._stop}.")

    def get(self, timeout_s: float) -> Order:
        """Return the next order.

        Raises
        ------
        BusClosedError
            When the session was stopped.
        StepTimeoutError
            When no order came in `timeout_s` seconds.
        """
        try:
            order = self._orders.get(timeout=timeout_s)
        except queue.Empty:
            raise self.without_order(timeout_s) from None
        self.check_stop()
        return order

    @staticmethod
    def without_order(timeout_s: float) -> StepTimeoutError:
        """Return the error of a member that the client has forgotten."""
        return StepTimeoutError(
            f"Session: the client must give an order within {timeout_s:g} s, got none. "
            "Is the client still alive?"
        )


class SessionPlugin(WorkerPlugin):  # type: ignore[misc]
    """Holds the mailboxes of a worker."""

    name = PLUGIN_NAME
    idempotent = True

    def setup(self, worker: Any) -> None:
        """Start with no session."""
        self._mailboxes: dict[str, Mailbox] = {}
        self._stopped: deque[tuple[str, Stop]] = deque(maxlen=REMEMBERED_STOPS)
        self._lock = threading.Lock()

    def teardown(self, worker: Any) -> None:
        """Wake every session: the worker is closing."""
        with self._lock:
            for mailbox in self._mailboxes.values():
                mailbox.put(Stop(reason="the worker is closing"))

    def mailbox(self, session: str) -> Mailbox:
        """Return the mailbox of a session, made at the first call."""
        with self._lock:
            if session not in self._mailboxes:
                self._mailboxes[session] = self._new_mailbox(session)
            return self._mailboxes[session]

    @contextmanager
    def open(self, session: str) -> Iterator[Mailbox]:
        """Hold the mailbox of a session until its task ends."""
        try:
            yield self.mailbox(session)
        finally:
            with self._lock:
                self._mailboxes.pop(session, None)

    def deliver(self, session: str, order: Order) -> None:
        """Put an order into an open mailbox; drop it if the task is over."""
        with self._lock:
            mailbox = self._mailboxes.get(session)
            if mailbox is None and isinstance(order, Stop):
                # Its task may be about to start, and can no longer be cancelled.
                self._stopped.append((session, order))
        if mailbox is not None:
            mailbox.put(order)

    def stop_at(self, session: str, phase: int, position: int) -> int | None:
        """Take back what the member of a session has not begun; None if it is over."""
        with self._lock:
            mailbox = self._mailboxes.get(session)
        return None if mailbox is None else mailbox.stop_at(phase, position)

    def _new_mailbox(self, session: str) -> Mailbox:
        mailbox = Mailbox()
        for stopped, stop in self._stopped:
            if stopped == session:
                mailbox.put(stop)
        return mailbox


def deliver(session: str, order: Order, dask_worker: Any) -> None:
    """Give this worker its order. Run by ``client.run`` on the worker's loop.

    Raises
    ------
    BusClosedError
        When the worker is closing: it counts as gone.
    """
    _plugin(dask_worker).deliver(session, order)


def stop_at(session: str, phase: int, position: int, dask_worker: Any) -> int | None:
    """Take back what this worker's member has not begun. Run by ``client.run``.

    Returns
    -------
    int or None
        How many minibatches of the phase it trains; None if its task is over.
    """
    return _plugin(dask_worker).stop_at(session, phase, position)


def mailbox_of(session: str, worker: Any) -> Mailbox:
    """Return the mailbox of a session on a worker.

    Raises
    ------
    BusClosedError
        When the worker is closing.
    """
    return _plugin(worker).mailbox(session)


def _plugin(worker: Any) -> SessionPlugin:
    plugin = worker.plugins.get(PLUGIN_NAME)
    if plugin is None:
        raise BusClosedError(
            f"Session: the worker at {worker.address} must be running, it is closing."
        )
    found: SessionPlugin = plugin
    return found
