"""A worker's mailbox: orders of its sessions until their tasks take them.

Orders come in on the worker's event loop while the task thread trains; nothing here
blocks the loop. Everything hangs on a session id and a rank: two fits can share a
worker, and one that was given up may come back while its old task ends.
"""

import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from distributed.diagnostics.plugin import WorkerPlugin

from daskdl.cluster.log_filters import asked_often
from daskdl.cluster.orders import (
    ClosePhase,
    MemberGone,
    MoreWork,
    Order,
    StandStill,
    Stop,
    TrainPhase,
)
from daskdl.cluster.workload import Workload
from daskdl.data.sources.partition import Partition
from daskdl.errors import BusClosedError, StepTimeoutError
from daskdl.nn.network import Network
from daskdl.nn.pretraining import LayerPretraining

if TYPE_CHECKING:
    from daskdl.cluster.exchanges.base import ClusterExchange

PLUGIN_NAME = "daskdl-sessions-1"  # ends with the protocol's version
# Sessions that were stopped before their task began; it begins within seconds or never.
REMEMBERED_STOPS = 64
LOOK_EVERY_S = 1.0


class Mailbox:
    """The orders of one member of a session. Safe between threads.

    Attributes
    ----------
    network : Network, LayerPretraining or None
        The network in training, for whoever asks for a snapshot between two phases.
    exchange : ClusterExchange or None
        The exchange of its updates, likewise.
    partitions : dict of int to Partition
        Those that the session's orders brought.
    workload : Workload
        What is to be trained in the phase that was ordered last.
    """

    def __init__(self) -> None:
        self.network: Network[Any] | LayerPretraining | None = None
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
        if isinstance(order, MoreWork | StandStill | ClosePhase):
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

    def _change_workload(self, order: MoreWork | StandStill | ClosePhase) -> None:
        if self.workload.phase != order.phase:
            return
        if isinstance(order, MoreWork):
            self.workload.add(order.minibatches)
        elif isinstance(order, StandStill):
            self.workload.is_stop_wanted = True
        else:
            self.workload.close(order.totals)

    @property
    def is_stopped(self) -> bool:
        """Whether the session was stopped: nobody listens to its members any more."""
        return self._stop is not None

    def check_stop(self) -> None:
        """Raise BusClosedError if the session was stopped."""
        if self._stop is not None:
            raise BusClosedError(f"Session: stopped, {self._stop}.")

    def get(self, timeout_s: float, look: Callable[[], object] | None = None) -> Order:
        """Return the next order.

        Parameters
        ----------
        timeout_s : float
        look : callable, optional
            Called every second; what it raises ends the wait.

        Raises
        ------
        BusClosedError
            When the session was stopped.
        StepTimeoutError
            When no order came in `timeout_s` seconds.
        """
        end_s = time.monotonic() + timeout_s
        while True:
            left_s = end_s - time.monotonic()
            with suppress(queue.Empty):
                order = self._orders.get(timeout=max(0.0, min(left_s, LOOK_EVERY_S)))
                self.check_stop()
                return order
            if left_s <= 0:
                raise self.without_order(timeout_s)
            if look is not None:
                look()

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
        self._mailboxes: dict[tuple[str, int], Mailbox] = {}
        self._stopped: deque[tuple[str, int | None, Stop]] = deque(
            maxlen=REMEMBERED_STOPS
        )
        self._lock = threading.Lock()

    def teardown(self, worker: Any) -> None:
        """Wake every session: the worker is closing."""
        with self._lock:
            for mailbox in self._mailboxes.values():
                mailbox.put(Stop(reason="the worker is closing"))

    def mailbox(self, session: str, rank: int) -> Mailbox:
        """Return the mailbox of a member, made at the first call."""
        key = (session, rank)
        with self._lock:
            if key not in self._mailboxes:
                self._mailboxes[key] = self._new_mailbox(session, rank)
            return self._mailboxes[key]

    @contextmanager
    def open(self, session: str, rank: int) -> Iterator[Mailbox]:
        """Hold the mailbox of a member until its task ends."""
        try:
            yield self.mailbox(session, rank)
        finally:
            with self._lock:
                self._mailboxes.pop((session, rank), None)

    def deliver(self, session: str, rank: int, order: Order) -> bool:
        """Put an order into an open mailbox; False if there is none, and it is dropped.

        A stop is remembered: its task may be about to start, and can no longer be
        cancelled.
        """
        with self._lock:
            mailbox = self._mailboxes.get((session, rank))
            if mailbox is None and isinstance(order, Stop):
                self._stopped.append((session, rank, order))
        if mailbox is not None:
            mailbox.put(order)
        return mailbox is not None

    def stop_at(self, session: str, rank: int, phase: int, position: int) -> int | None:
        """Take back what a member has not begun; None if its task is over."""
        with self._lock:
            mailbox = self._mailboxes.get((session, rank))
        return None if mailbox is None else mailbox.stop_at(phase, position)

    def end(self, holder: str) -> None:
        """Stop all members of a session whose client is gone."""
        stop = Stop(reason="the client is gone")
        with self._lock:
            self._stopped.append((holder, None, stop))
            for (session, _), mailbox in self._mailboxes.items():
                if session == holder:
                    mailbox.put(stop)

    def _new_mailbox(self, session: str, rank: int) -> Mailbox:
        mailbox = Mailbox()
        for stopped, of_rank, stop in self._stopped:
            if stopped == session and of_rank in (None, rank):
                mailbox.put(stop)
        return mailbox


@asked_often
def deliver(session: str, rank: int, order: Order, dask_worker: Any) -> bool:
    """Give a member its order. Run by ``client.run`` on the worker's loop.

    Returns
    -------
    is_there : bool
        False if the member's task is over.

    Raises
    ------
    BusClosedError
        When the worker is closing: it counts as gone.
    """
    return _plugin(dask_worker).deliver(session, rank, order)


@asked_often
def stop_at(
    session: str, rank: int, phase: int, position: int, dask_worker: Any
) -> int | None:
    """Take back what a member has not begun. Run by ``client.run``.

    Returns
    -------
    int or None
        How many minibatches of the phase it trains; None if its task is over.
    """
    return _plugin(dask_worker).stop_at(session, rank, phase, position)


def mailbox_of(session: str, rank: int, worker: Any) -> Mailbox:
    """Return the mailbox of a member on a worker.

    Raises
    ------
    BusClosedError
        When the worker is closing.
    """
    return _plugin(worker).mailbox(session, rank)


def _plugin(worker: Any) -> SessionPlugin:
    plugin = worker.plugins.get(PLUGIN_NAME)
    if plugin is None:
        raise BusClosedError(
            f"Session: the worker at {worker.address} must be running, it is closing."
        )
    found: SessionPlugin = plugin
    return found
