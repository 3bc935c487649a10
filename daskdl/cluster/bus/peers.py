"""The other members of a topic, as the worker's event loop sees them."""

import asyncio
import json
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from daskdl.cluster.bus.control import Control, NotInstalledError
from daskdl.cluster.bus.incoming_link import IncomingLink
from daskdl.cluster.bus.messages import Joined, Member
from daskdl.cluster.bus.outbox import Outbox
from daskdl.cluster.bus.outgoing_link import OutgoingLink
from daskdl.cluster.bus.payload import Parcel
from daskdl.cluster.bus.protocol import (
    GRACE_S,
    LOOK_AFTER_THREAD_S,
    LOOK_AT_RINGS_S,
    NOT_A_MEMBER,
    STOPPED_S,
    WATCH_EVERY_S,
)
from daskdl.cluster.bus.registry import Entry, View
from daskdl.cluster.bus.state import TopicState
from daskdl.errors import ClusterError

logger = logging.getLogger(__name__)


@dataclass
class Peer:
    """One other member of the topic, with its outbox and its two links."""

    member: Member
    outbox: Outbox | None  # None when it does not receive
    incoming: IncomingLink
    outgoing: OutgoingLink | None = None  # made when there is something to send


class Peers:
    """Keeps one outgoing and one incoming link for each other member.

    Parameters
    ----------
    state : TopicState
        Shared with the task's thread.
    control : Control
        The way to the scheduler.
    connection_args : dict
        The worker's own, with its certificates.
    on_lost : callable
        Called when the scheduler no longer counts us as a member.
    """

    def __init__(
        self,
        state: TopicState,
        control: Control,
        connection_args: dict[str, Any],
        on_lost: Callable[[], None],
    ) -> None:
        self.space = asyncio.Event()
        self._state = state
        self._on_lost = on_lost
        self._control = control
        self._connection_args = connection_args
        self._epoch = 0
        self._peers: dict[str, Peer] = {}
        # Of members that are gone, not yet read empty.
        self._parting: list[IncomingLink] = []
        self._last_word: Parcel | None = None
        self._is_stopped = False
        self._tasks: set[asyncio.Task[Any]] = set()
        self._looks = 0  # at rings
        self._looking: asyncio.Task[None] | None = None
        self._watching: asyncio.Task[None] | None = None

    # Read by the publishing thread, which holds the lock.

    def members(self) -> dict[str, Member]:
        """Return the other members."""
        return {id_: peer.member for id_, peer in self._peers.items()}

    def outboxes(self) -> dict[str, Outbox]:
        """Return the outboxes of members that receive."""
        peers = self._peers.items()
        return {id_: peer.outbox for id_, peer in peers if peer.outbox is not None}

    def all_ended(self) -> bool:
        """Return whether the Left of every member is in the inbox or taken."""
        return all(link.has_ended for link in self._links())

    @property
    def has_rings(self) -> bool:
        """Whether messages go through shared memory, which tells nobody."""
        return any(link.has_ring for link in self._links()) or any(
            peer.outgoing is not None and peer.outgoing.has_ring
            for peer in self._peers.values()
        )

    def read_rings(self) -> None:
        """Deliver what came through shared memory."""
        self._looks += 1
        for link in self._links():
            link.read_ring()

    def flush(self) -> bool:
        """Write into shared memory what waits for members on this machine.

        Returns
        -------
        is_done : bool
            False if the event loop is to look after something.
        """
        # Each of them, whatever came of those before.
        is_done = [_is_flushed(peer) for peer in self._peers.values()]
        return all(is_done)

    def end(self, last_word: Parcel) -> None:
        """Queue the last word for everyone, newcomers included."""
        self._last_word = last_word
        for outbox in self.outboxes().values():
            outbox.put(last_word)

    # On the event loop.

    def apply(self, view: View) -> None:
        """Take over a view, unless a newer one was seen."""
        with self._state.changed:
            if view.epoch <= self._epoch or self._is_stopped:
                return
            self._epoch = view.epoch
            for id_ in self._peers.keys() - view.members.keys():
                self._part(self._peers.pop(id_))
            for id_ in view.members.keys() - self._peers.keys() - {self._state.me}:
                self._peers[id_] = self._welcome(id_, view.members[id_])
            self._state.changed.notify_all()
        self.wake()
        if self._state.me not in view.members:
            self._on_lost()

    def wake(self) -> None:
        """Send the messages that wait in the outboxes."""
        for id_, peer in self._peers.items():
            if peer.outbox is None or not peer.outbox.backlog:
                continue
            if peer.outgoing is None:
                peer.outgoing = self._new_link(id_, peer.member, peer.outbox)
                self._track(peer.outgoing.start())
            peer.outgoing.wake()

    async def serve(self, comm: Any, source: str, ring_path: str | None) -> None:
        """Own a connection that a member opened, and its shared memory if there is."""
        if source not in self._peers:
            # The scheduler tells members of each other one by one: it was told first.
            await self.refresh()
        peer = self._peers.get(source)
        if peer is None or self._is_stopped:
            await comm.write({"ok": False, "reason": NOT_A_MEMBER})
            return
        self._track(asyncio.current_task())
        self._begin_to_look()
        await peer.incoming.serve(comm, ring_path)

    async def refresh(self) -> None:
        """Ask the scheduler for the members, in case its news did not arrive."""
        try:
            self.apply(await self._control.view(self._state.name))
        except Exception as error:  # noqa: BLE001
            # Asked again after the next failure; the scheduler may be closing.
            logger.info("Topic %r: no view: %r", self._state.name, error)

    def begin_to_watch(self) -> None:
        """Ask who is a member, as often as this process seems to have been stopped."""
        self._watching = asyncio.create_task(self._ask_after_stops())
        self._track(self._watching)

    async def _ask_after_stops(self) -> None:
        loop = asyncio.get_running_loop()
        seems_stopped = False
        while not self._is_stopped:
            before_s = loop.time()
            await asyncio.sleep(WATCH_EVERY_S)
            seems_stopped |= loop.time() - before_s > STOPPED_S
            if seems_stopped:
                seems_stopped = not await self._is_told()

    async def _is_told(self) -> bool:
        """Ask whether we are still a member; False if nobody answers."""
        name, me = self._state.name, self._state.me
        try:
            is_member = me in (await self._control.view(name)).members
        except NotInstalledError:
            is_member = False  # all have left
        except ClusterError:
            return False
        if not is_member:
            self._on_lost()
        return True

    async def stop(self) -> None:
        """Cut all connections and wait for their tasks."""
        with self._state.changed:
            self._is_stopped = True
            peers = list(self._peers.values())
            self._peers.clear()
        for incoming in self._parting:
            incoming.close()
        for peer in peers:
            peer.incoming.close()
            if peer.outgoing is not None:
                peer.outgoing.stop()
        for task in (self._looking, self._watching):
            if task is not None:
                task.cancel()
        self._state.inbox.discard()
        self.space.set()
        pending = self._tasks - {asyncio.current_task()}
        if pending:
            await asyncio.wait(pending, timeout=GRACE_S)

    def _welcome(self, id_: str, entry: Entry) -> Peer:
        member = Member(entry.address, json.loads(entry.meta))
        outbox = self._state.new_outbox() if entry.receives else None
        if outbox is not None and self._last_word is not None:
            outbox.put(self._last_word)
        self._state.inbox.put([Joined(id_, member.address, member.meta)])
        return Peer(member, outbox, IncomingLink(id_, self._state.inbox, self.space))

    def _part(self, peer: Peer) -> None:
        if peer.outgoing is not None:
            peer.outgoing.stop()
        self._parting = [each for each in self._parting if not each.has_ended]
        self._parting.append(peer.incoming)
        peer.incoming.retire()

    def _links(self) -> list[IncomingLink]:
        return [*(peer.incoming for peer in self._peers.values()), *self._parting]

    def _begin_to_look(self) -> None:
        """Look after shared memory from now on, where no thread does."""
        if self._looking is None and not self._is_stopped:
            self._looking = asyncio.create_task(self._look_at_rings())
            self._track(self._looking)

    async def _look_at_rings(self) -> None:
        pause_s = LOOK_AT_RINGS_S
        while not self._is_stopped:
            looks = self._looks
            await asyncio.sleep(pause_s)
            if self._looks != looks:
                # Each time takes the core from a thread that looks by itself.
                pause_s = LOOK_AFTER_THREAD_S
                continue
            pause_s = LOOK_AT_RINGS_S
            with self._state.changed:
                self.read_rings()
                self.flush()

    def _new_link(self, id_: str, member: Member, outbox: Outbox) -> OutgoingLink:
        self._begin_to_look()

        async def forget() -> None:
            await self._control.leave(self._state.name, id_)

        return OutgoingLink(
            member.address,
            {"source": self._state.me, "target": id_},
            outbox,
            self._state.stats,
            connection_args=self._connection_args,
            on_trouble=self.refresh,
            on_gone=forget,
        )

    def _track(self, task: "asyncio.Task[Any] | None") -> None:
        if task is not None:
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)


def _is_flushed(peer: Peer) -> bool:
    if peer.outbox is None:
        return True
    if peer.outgoing is None:
        return not peer.outbox.has_pending
    return peer.outgoing.flush()
