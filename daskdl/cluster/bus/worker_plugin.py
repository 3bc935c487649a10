"""The bus on a worker: opens topics and takes what the scheduler and peers send."""

import asyncio
import json
import logging
import uuid
from dataclasses import dataclass
from typing import Any

from distributed.core import Status
from distributed.diagnostics.plugin import WorkerPlugin

from daskdl.arrays.freed_memory import FREED_MEMORY
from daskdl.cluster.bus.control import Control, NotInstalledError
from daskdl.cluster.bus.event_loop import EventLoop
from daskdl.cluster.bus.housekeeping import Housekeeping
from daskdl.cluster.bus.membership import Membership
from daskdl.cluster.bus.options import MEMBER, Role, TopicOptions, WhenFull
from daskdl.cluster.bus.peers import Peers
from daskdl.cluster.bus.protocol import (
    CONTROL_TIMEOUT_S,
    LINK_OP,
    NOT_HERE,
    PLUGIN_NAME,
    VIEW_OP,
)
from daskdl.cluster.bus.registry import Entry, View
from daskdl.cluster.bus.state import TopicState
from daskdl.cluster.bus.switch_interval import SWITCH_INTERVAL
from daskdl.cluster.bus.topic import Topic
from daskdl.errors import BusClosedError, ClusterError, OptionError

logger = logging.getLogger(__name__)

OPEN_TIMEOUT_S = 2 * CONTROL_TIMEOUT_S
TEARDOWN_TIMEOUT_S = 2.0


@dataclass(frozen=True)
class OpenTopic:
    """A topic with the parts that the event loop needs to serve it."""

    name: str
    role: Role
    topic: Topic
    peers: Peers
    membership: Membership


class BusWorkerPlugin(WorkerPlugin):  # type: ignore[misc]
    """The bus of one worker process. Tasks get it from :func:`get_bus`.

    Only comm handlers are registered. An exception in a stream handler would close the
    worker's stream to the scheduler; in a comm handler it is confined to one
    connection.
    """

    name = PLUGIN_NAME
    idempotent = True  # a second client must not tear down the topics of the first

    def __init__(self) -> None:
        self.generation = ""  # of the stay on the cluster that started it
        self._worker: Any = None
        self._control: Any = None
        self._loop: Any = None
        self._housekeeping: Any = None
        self._open: dict[str, OpenTopic] = {}
        self._is_closed = False

    def setup(self, worker: Any) -> None:
        """Answer the scheduler and the peers from now on."""
        self._worker = worker
        self._control = Control(worker)
        self._loop = EventLoop()
        self._housekeeping = Housekeeping(worker)
        worker.handlers[LINK_OP] = self._serve_link
        worker.handlers[VIEW_OP] = self._take_view

    async def teardown(self, worker: Any) -> None:
        """Wake every waiting thread with BusClosedError and close all topics."""
        self._is_closed = True
        opened = list(self._open.values())
        for each in opened:
            each.topic.abort()
        leaving = [asyncio.ensure_future(each.membership.leave()) for each in opened]
        if leaving:
            # The scheduler may be lost; it is not waited for.
            await asyncio.wait(leaving, timeout=TEARDOWN_TIMEOUT_S)
        for operation in (LINK_OP, VIEW_OP):
            worker.handlers.pop(operation, None)

    def topic(
        self,
        name: str,
        *,
        meta: dict[str, Any] | None = None,
        when_full: WhenFull = "block",
        max_queue: int = 32,
        max_queue_bytes: int = 64 * 2**20,
        inbox_bytes: int = 64 * 2**20,
    ) -> Topic:
        """Join a topic. Called from a task's thread.

        When this returns, all members that answer know the new one: what they publish
        from then on reaches it.

        Parameters
        ----------
        name : str
            Of the topic. Each worker may have it open once.
        meta : dict, optional
            What JSON can hold; the other members see it.
        when_full : {"block", "drop_oldest"} or callable
            What `publish` does when a subscriber's queue is full: wait for room, give
            up the oldest waiting messages, or replace all waiting messages by what the
            callable makes of them. It gets a list of at least two published objects,
            oldest first, must not change them, and returns one of the same kind.
        max_queue, max_queue_bytes : int
            Bounds of what may wait for one subscriber. One message is always allowed.
            Up to 64 messages and 4 MiB (or two messages) more are on their way.
        inbox_bytes : int
            When so much was received and not taken, nothing more is read.

        Returns
        -------
        topic : Topic
            To be closed, best by a ``with`` statement.

        Raises
        ------
        OptionError
            An option is wrong.
        ClusterError
            The worker has the topic open already, or the scheduler did not answer.
        """
        options = TopicOptions(
            when_full=when_full,
            max_queue=max_queue,
            max_queue_bytes=max_queue_bytes,
            inbox_bytes=inbox_bytes,
        )
        return self.open(name, options, meta=meta)

    def open(
        self,
        name: str,
        options: TopicOptions,
        *,
        meta: dict[str, Any] | None = None,
        role: Role = MEMBER,
    ) -> Topic:
        """Join a topic as :meth:`topic` does, with the choices that Pub and Sub need.

        Parameters
        ----------
        name, options, meta
            As for :meth:`topic`.
        role : Role
            What the member takes part in.

        Returns
        -------
        topic : Topic
        """
        if not isinstance(name, str) or not name:
            raise OptionError(f"Topic: name must be a text, not empty, got {name!r}.")
        entry = Entry(self._worker.address, _to_json(name, meta or {}), role.receives)

        async def join() -> Topic:
            return await self._join(name, options, entry, role)

        topic: Topic = self._loop.run(join, timeout_s=OPEN_TIMEOUT_S)
        return topic

    def report(self, topic: str, message: dict[str, Any]) -> bool:
        """Log an event for whoever holds a topic. Called from a task's thread.

        Slower than ``Worker.log_event``, after which the event of one that comes late
        would stay on the scheduler: nobody is there who would drop it.

        Parameters
        ----------
        topic : str
            As the holder gave it to :func:`~daskdl.cluster.bus.install`.
        message : dict
            What msgpack can hold, with texts as keys.

        Returns
        -------
        is_held : bool
            False if the holder has released the bus; then nothing is logged.
        """

        async def tell() -> Any:
            return await self._control.report(topic, message)

        try:
            is_held: bool = self._loop.run(tell, timeout_s=OPEN_TIMEOUT_S)
        except (NotInstalledError, BusClosedError):
            return False
        except ClusterError as error:
            # A scheduler that is busy for so long has not ended the fit.
            logger.info("Topic %r: %s", topic, error)
            self._worker.log_event(topic, message)
            return True
        return is_held

    async def _join(
        self, name: str, options: TopicOptions, entry: Entry, role: Role
    ) -> Topic:
        if self._is_closed:
            raise BusClosedError("Bus: the worker must be running, it stops.")
        if role.is_exclusive and any(
            each.role.is_exclusive and each.name == name for each in self._open.values()
        ):
            raise ClusterError(
                f"Topic {name!r}: must be open once on a worker, "
                f"{entry.address} has it open already. Close it first."
            )
        me = uuid.uuid4().hex
        opened = self._make(TopicState(name, me, options, role))
        # Before the scheduler knows us: a peer may be faster than its answer.
        self._open[me] = opened
        SWITCH_INTERVAL.hold()
        FREED_MEMORY.hold()
        self._housekeeping.hold()
        try:
            opened.peers.apply(await self._control.join(name, me, entry))
        except BaseException:
            opened.topic.abort()
            raise
        opened.peers.begin_to_watch()
        return opened.topic

    def _make(self, state: TopicState) -> OpenTopic:
        def left() -> None:
            del self._open[state.me]
            SWITCH_INTERVAL.release()
            FREED_MEMORY.release()
            self._housekeeping.release()

        def lost() -> None:
            opened.topic.abort()

        args = self._worker.connection_args
        peers = Peers(state, self._control, args, on_lost=lost)
        membership = Membership(state, peers, self._control, on_left=left)
        topic = Topic(state, peers, membership, self._loop)
        opened = OpenTopic(state.name, state.role, topic, peers, membership)
        return opened

    async def _serve_link(
        self, comm: Any, source: str, target: str, ring: str | None = None
    ) -> Any:
        opened = self._open.get(target)
        if opened is None:
            await comm.write({"ok": False, "reason": NOT_HERE})
        else:
            await opened.peers.serve(comm, source, ring)
        return Status.dont_reply

    async def _take_view(self, view: dict[str, Any]) -> dict[str, Any]:
        news = View.from_message(view)
        for opened in list(self._open.values()):
            if opened.name == news.topic and opened.topic.me in news.members:
                opened.peers.apply(news)
        return {"ok": True}


def _to_json(name: str, meta: dict[str, Any]) -> str:
    try:
        return json.dumps(meta)
    except (TypeError, ValueError) as error:
        raise OptionError(
            f"Topic {name!r}: meta must be what JSON can hold, got {meta!r}."
        ) from error
