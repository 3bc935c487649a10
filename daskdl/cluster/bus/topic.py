"""The topic as a task uses it: publish, get, close."""

import dataclasses
import logging
import threading
import time
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any, TypeVar

from daskdl.cluster.bus.event_loop import EventLoop
from daskdl.cluster.bus.inbox import Entry, Received
from daskdl.cluster.bus.membership import Membership
from daskdl.cluster.bus.messages import Event, Member, Message
from daskdl.cluster.bus.payload import decode
from daskdl.cluster.bus.peers import Peers
from daskdl.cluster.bus.publisher import Publisher
from daskdl.cluster.bus.state import TopicState
from daskdl.cluster.bus.stats import TopicStats
from daskdl.errors import ClusterError, DataError

logger = logging.getLogger(__name__)

CLOSE_TIMEOUT_S = 10.0
# Shared memory wakes nobody: whoever waits looks again after a tenth of the time that
# it has waited, within these bounds.
FIRST_LOOK_S = 0.0001
LAST_LOOK_S = 0.005
LOOK_AGAIN_AFTER = 0.1

T = TypeVar("T")


class Topic:
    """One membership in a topic. Made by `bus.topic`; may be used by several threads.

    Use it as a context manager. When the body ends normally the topic is ended and
    closed; when it raises, the others see an unclean :class:`Left`.
    """

    def __init__(
        self, state: TopicState, peers: Peers, membership: Membership, loop: EventLoop
    ) -> None:
        self._state = state
        self._peers = peers
        self._membership = membership
        self._loop = loop
        self._publisher = Publisher(state, peers, self._wake)
        self._is_waking = False
        self._closing = threading.Lock()
        self._all_delivered: bool | None = None

    @property
    def name(self) -> str:
        """Name of the topic."""
        return self._state.name

    @property
    def me(self) -> str:
        """Our member id: the `source` of our messages. New each time, never reused."""
        return self._state.me

    @property
    def stats(self) -> TopicStats:
        """A copy of the counters."""
        return dataclasses.replace(self._state.stats)

    def publish(
        self,
        data: Any,
        *,
        to: str | None = None,
        copy: bool = True,
        is_whole: bool = False,
        is_brief: bool = False,
        timeout_s: float | None = None,
        on_block: Callable[[], Any] | None = None,
    ) -> int:
        """Send `data` to every other member that is there, or to one of them.

        Parameters
        ----------
        data : object
            Anything that can be pickled. Arrays travel without a further copy; one
            large array is much faster than many small ones.
        to : str, optional
            The id of the one member that gets it; nobody does if that one is gone.
        copy : bool
            Copy the arrays first. False is a promise never to change them again.
        is_whole : bool
            Wait for room, also where `when_full` says that messages are dropped or
            merged. It holds for this message; one that follows may drop or merge it.
        is_brief : bool
            Whoever takes it has done with its arrays before another large one comes, so
            that they need not be copied. Who keeps them keeps us from sending.
        timeout_s : float, optional
            How long to wait for room with ``when_full="block"``; 300 s by default.
        on_block : callable, optional
            Called again and again while waiting. Two workers that publish and take in
            one thread each can wait for each other for ever unless this takes messages.

        Returns
        -------
        number : int
            Of this message, from 1.

        Raises
        ------
        StepTimeoutError
            No room in time. Nothing was sent to anyone.
        BusClosedError
            The topic was ended, closed or aborted, or the worker is closing.
        """
        return self._publisher.publish(
            data,
            to=to,
            copy=copy,
            is_whole=is_whole,
            is_brief=is_brief,
            timeout_s=timeout_s,
            on_block=on_block,
        )

    def has_room(self, nbytes: int, to: str | None = None) -> bool:
        """Return whether a message of this size is published without waiting.

        Parameters
        ----------
        nbytes : int
            Of its arrays.
        to : str, optional
            As of :meth:`publish`.
        """
        return self._publisher.has_room(nbytes, to)

    def get(self, timeout_s: float) -> Event | None:
        """Take the next event.

        Returns
        -------
        event : Message, Joined, Left or None
            None when nothing came in time.

        Raises
        ------
        BusClosedError
            The topic was closed or aborted, or the worker is closing.
        DataError
            The message cannot be unpickled here. It is taken; the next call goes on.
        """
        state = self._state
        with state.changed:
            self._wait_for(lambda: state.is_closed or bool(state.inbox), timeout_s)
        return self._next()

    def drain(self) -> list[Event]:
        """Take all received messages, without waiting."""
        with self._state.changed:
            self._peers.read_rings()
        events: list[Event] = []
        while (event := self._next()) is not None:
            events.append(event)
        return events

    def members(self) -> dict[str, Member]:
        """Return the other members by id, as the scheduler last told."""
        with self._state.changed:
            return self._peers.members()

    def check_open(self) -> None:
        """Raise BusClosedError if the topic was closed or aborted."""
        self._state.check_open()

    def behind(self) -> list[str]:
        """Return the members for which messages wait here, since they take none."""
        with self._state.changed:
            outboxes = self._peers.outboxes().items()
            return [id_ for id_, outbox in outboxes if outbox.backlog]

    def end(self) -> None:
        """Publish no more; the others get a clean :class:`Left` after our messages.

        Receiving goes on.
        """
        self._publisher.end()

    def finished(self) -> bool:
        """Return whether all others ended or left, and all they sent was taken.

        True as well when nobody else ever came: wait for :meth:`members` first.
        """
        with self._state.changed:
            return not self._state.inbox and self._peers.all_ended()

    def close(self, timeout_s: float = CLOSE_TIMEOUT_S) -> bool:
        """End, wait until published messages are delivered, and leave. Idempotent.

        What arrives from now on is discarded, so that nobody waits for us.

        Parameters
        ----------
        timeout_s : float
            How long to wait for slow subscribers.

        Returns
        -------
        all_delivered : bool
            False when a subscriber did not acknowledge everything in time, or the topic
            was aborted.
        """
        with self._closing:
            if self._all_delivered is None:
                self._all_delivered = self._close(time.monotonic() + timeout_s)
            return self._all_delivered

    def abort(self) -> None:
        """Leave at once; every waiting call raises BusClosedError. From any thread.

        The others see an unclean :class:`Left`, unless the topic was ended and that was
        delivered.
        """
        if self._state.close():
            self._loop.call_soon(self._membership.start_to_leave)

    def __enter__(self) -> "Topic":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None:
            self.abort()
        self.close()

    def __repr__(self) -> str:
        return f"<Topic {self.name!r}, member {self.me}>"

    def _next(self) -> Event | None:
        state = self._state
        with state.changed:
            state.check_open()
            was_full = state.inbox.is_full
            entry = state.inbox.take()
            has_space = was_full and not state.inbox.is_full
        if has_space:
            self._loop.call_soon(self._peers.space.set)
        return None if entry is None else self._event(entry)

    def _event(self, entry: Entry) -> Event:
        if not isinstance(entry, Received):
            return entry
        parcel = entry.parcel
        if parcel.payload is None:
            raise DataError(f"Topic {self.name!r}: a message must have a payload.")
        try:
            data = decode(parcel.payload)
        except Exception as error:
            raise DataError(
                f"Topic {self.name!r}: a message must be unpickled where it is taken, "
                f"message {parcel.last} of member {entry.source} cannot: {error!r}."
            ) from error
        return Message(entry.source, self.name, parcel.first, parcel.last, data)

    def _close(self, deadline: float) -> bool:
        delivered = False
        if not self._state.is_closed:
            self.end()
            self._state.inbox.discard()
            self._loop.call_soon(self._peers.space.set)
            delivered = self._quietly(lambda: self._take_leave(deadline))
        self._quietly(lambda: self._run(self._membership.leave))
        self._state.close()
        return delivered

    def _take_leave(self, deadline: float) -> bool:
        while self._wait_until_delivered(deadline):
            if self._run(self._membership.try_to_leave):
                return True
        return False

    def _quietly(self, step: Callable[[], bool | None]) -> bool:
        # Closing must not hide the error that made the caller close.
        try:
            return bool(step())
        except ClusterError as error:
            logger.warning("Topic %r: not closed cleanly: %s", self.name, error)
            return False

    def _wait_until_delivered(self, deadline: float) -> bool:
        state = self._state

        def nothing_left() -> bool:
            # It also hears from rings what was delivered.
            self._peers.flush()
            return not any(box.backlog for box in self._peers.outboxes().values())

        with state.changed:
            self._wait_for(
                lambda: state.is_closed or nothing_left(), deadline - time.monotonic()
            )
            return nothing_left() and not state.is_closed

    def _wait_for(self, is_true: Callable[[], bool], timeout_s: float) -> None:
        """Wait, with the lock, until something is true; look at shared memory, too."""
        began_s = time.monotonic()
        while True:
            self._peers.read_rings()
            waited_s = time.monotonic() - began_s
            left_s = timeout_s - waited_s
            if is_true() or left_s <= 0:
                return
            if self._peers.has_rings:
                pause_s = max(LOOK_AGAIN_AFTER * waited_s, FIRST_LOOK_S)
                left_s = min(left_s, pause_s, LAST_LOOK_S)
            self._state.changed.wait(left_s)

    def _run(self, function: Callable[[], Coroutine[Any, Any, T]]) -> T:
        return self._loop.run(function, timeout_s=CLOSE_TIMEOUT_S)

    def _wake(self) -> None:
        # One call for many messages: waking the event loop costs a system call.
        with self._state.changed:
            if self._is_waking:
                return
            self._is_waking = True
        self._loop.call_soon(self._wake_on_loop)

    def _wake_on_loop(self) -> None:
        with self._state.changed:
            self._is_waking = False
        self._peers.wake()
