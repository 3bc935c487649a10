"""A connection to one member of a topic.

Each topic has connections of its own, so that a full inbox of one topic never holds up
another. A connection is opened when there is something to send and opened again when it
breaks. Everything here runs on the worker's event loop, but for :meth:`flush`.

To a member on the same machine messages go through shared memory, from the thread that
publishes them. The connection then tells when the other end is gone, and where those
lie that are too large for a ring. The receiver puts the two into order by the numbers
of the messages.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

from distributed.comm import connect
from distributed.comm.core import CommClosedError

from daskdl.cluster.bus.frames import NumberedParcel, pack
from daskdl.cluster.bus.outbox import Outbox
from daskdl.cluster.bus.protocol import (
    CONNECT_TIMEOUT_S,
    FIRST_RETRY_S,
    FULL_RING_S,
    LAST_RETRY_S,
    LINK_OP,
    NOT_HERE,
)
from daskdl.cluster.bus.shared_ring import (
    RING_BYTES,
    SharedRing,
    create_ring,
    ring_bytes_for,
)
from daskdl.cluster.bus.stats import TopicStats
from daskdl.cluster.host_memory import unlink_memory

logger = logging.getLogger(__name__)

# So many of a size are not there once only, as the parameters for a newcomer are.
_LARGE_MESSAGES = 4

Comm = Any


class OutgoingLink:
    """Carries an outbox to its member.

    Parameters
    ----------
    address : str
        Of the member's worker.
    hello : dict
        ``source`` and ``target``, the member ids of both ends.
    outbox : Outbox
        What to send.
    stats : TopicStats
        Where to count.
    connection_args : dict
        The worker's own, with its certificates.
    on_trouble : coroutine function
        Called between attempts. It may stop this link.
    on_gone : coroutine function
        Called when the other worker says that the member is not, or no longer, there.
    """

    def __init__(
        self,
        address: str,
        hello: dict[str, str],
        outbox: Outbox,
        stats: TopicStats,
        *,
        connection_args: dict[str, Any],
        on_trouble: Callable[[], Awaitable[None]],
        on_gone: Callable[[], Awaitable[None]],
    ) -> None:
        self._outbox = outbox
        self._address = address
        self._hello = hello
        self._stats = stats
        self._connection_args = connection_args
        self._on_trouble = on_trouble
        self._on_gone = on_gone
        self._awake = asyncio.Event()
        self._acknowledged = 0
        self._ring: SharedRing | None = None
        # Of the ring that is wanted; and messages that were too large for it.
        self._ring_bytes = RING_BYTES
        self._n_large = 0
        # Of memory that large messages lie in, with their numbers.
        self._paths: deque[tuple[int, str]] = deque()
        self._is_stopped = False
        self._task: asyncio.Task[None] | None = None

    def start(self) -> "asyncio.Task[None]":
        """Begin to send; the task ends after :meth:`stop`."""
        self._task = asyncio.create_task(self._run())
        return self._task

    def stop(self) -> None:
        """Cut the connection."""
        # The flag as well: asyncio.wait_for, also where Dask uses it, loses a
        # cancellation that comes together with its result.
        self._is_stopped = True
        if self._task is not None:
            self._task.cancel()

    def wake(self) -> None:
        """Look into the outbox again."""
        self._awake.set()

    @property
    def has_ring(self) -> bool:
        """Whether messages go through shared memory."""
        return self._ring is not None

    def flush(self) -> bool:
        """Write what waits into shared memory. From any thread.

        Returns
        -------
        is_done : bool
            False if something is left that the event loop is to look at.
        """
        with self._outbox.changed:
            ring = self._ring
            if ring is None:
                return not self._outbox.has_pending
            self._note_acknowledged(ring.delivered)
            while (entry := self._outbox.next_one(ring.has_room)) is not None:
                self._outbox.lies(entry[0], ring.write(*entry))
            return not self._outbox.has_pending

    async def _run(self) -> None:
        retry_s = FIRST_RETRY_S
        has_broken = False
        while not self._is_stopped:
            before = self._acknowledged
            try:
                comm = await self._open()
                self._stats.reconnects += has_broken
                has_broken = True
                if await self._pump(comm):
                    has_broken = False
                    continue
            except Exception as error:  # noqa: BLE001
                # Not only OSError: ws:// breaks with AttributeError in mid-write. Every
                # error means that this connection is gone; the rest is sent again.
                logger.info("Link to %s broke: %r", self._address, error)
            if self._acknowledged > before:
                retry_s = FIRST_RETRY_S
            await asyncio.sleep(retry_s)
            retry_s = min(LAST_RETRY_S, 2 * retry_s)
            await self._on_trouble()

    async def _open(self) -> Comm:
        comm = await connect(
            self._address, timeout=CONNECT_TIMEOUT_S, **self._connection_args
        )
        ring, path = self._new_ring(comm)
        try:
            await comm.write({"op": LINK_OP, **self._hello, "ring": path})
            answer = await asyncio.wait_for(comm.read(), CONNECT_TIMEOUT_S)
            await self._check(answer)
        except BaseException:
            comm.abort()
            raise
        finally:
            if path is not None:
                unlink_memory(path)
        with self._outbox.changed:
            self._outbox.resume_after(answer["last"])
            self._ring = ring if answer["ring"] else None
        return comm

    def _new_ring(self, comm: Comm) -> tuple[SharedRing | None, str | None]:
        # Within one process arrays are handed over as they are.
        if comm.peer_address.startswith("inproc://"):
            return None, None
        return create_ring(self._ring_bytes) or create_ring() or (None, None)

    async def _check(self, answer: Any) -> None:
        # None is Dask's answer to an operation that it does not know.
        if isinstance(answer, dict) and answer.get("ok"):
            return
        if isinstance(answer, dict) and answer.get("reason") == NOT_HERE:
            await self._on_gone()
        raise CommClosedError(f"{self._address} refused a link: {answer!r}")

    async def _pump(self, comm: Comm) -> bool:
        """Send until the connection ends; return whether a larger ring is wanted."""
        acks = asyncio.create_task(self._read_acks(comm))
        acks.add_done_callback(lambda _: self._awake.set())
        try:
            while not acks.done() and not self._is_stopped:
                batch = self._next_batch()
                if batch and self._outgrows(batch):
                    return True
                if batch:
                    await comm.write(self._frame(batch))
                    continue
                self._awake.clear()
                if self._ring is not None and self._outbox.has_pending:
                    # Nobody tells when a ring was read.
                    loop = asyncio.get_running_loop()
                    loop.call_later(FULL_RING_S, self._awake.set)
                await self._awake.wait()
            if acks.done():
                acks.result()
            return False
        finally:
            with self._outbox.changed:
                self._ring = None
            self._unlink_up_to(None)
            comm.abort()
            acks.cancel()
            await asyncio.gather(acks, return_exceptions=True)

    def _next_batch(self) -> list[NumberedParcel]:
        """Return what the connection is to carry now."""
        ring = self._ring
        if ring is None:
            return self._outbox.next_batch()
        if self.flush():
            return []
        large = self._outbox.next_one(lambda parcel: not ring.ever_fits(parcel))
        return [] if large is None else [large]

    def _outgrows(self, batch: list[NumberedParcel]) -> bool:
        """Note the size of a larger ring if messages as large as this one keep coming.

        They are repeated over the connection that has it.
        """
        if self._ring is None:
            return False
        self._n_large += 1
        wanted = ring_bytes_for(batch[0][1])
        if self._n_large < _LARGE_MESSAGES or wanted is None:
            return False
        is_larger = wanted > self._ring_bytes
        self._ring_bytes = max(wanted, self._ring_bytes)
        return is_larger

    def _frame(self, batch: list[NumberedParcel]) -> dict[str, Any]:
        frame = pack(batch, in_memory=self._ring is not None)
        if "memory" in frame:
            self._paths.append((batch[-1][0], frame["memory"]))
        return frame

    def _unlink_up_to(self, number: int | None) -> None:
        """Remove paths of memory that the other end has; with None all."""
        while self._paths and (number is None or self._paths[0][0] <= number):
            unlink_memory(self._paths.popleft()[1])

    async def _read_acks(self, comm: Comm) -> None:
        while True:
            self._note_acknowledged((await comm.read())["ack"])
            self._unlink_up_to(self._acknowledged)
            self._awake.set()

    def _note_acknowledged(self, number: int) -> None:
        with self._outbox.changed:
            if number > self._acknowledged:
                self._acknowledged = number
                self._outbox.acknowledge(number)
