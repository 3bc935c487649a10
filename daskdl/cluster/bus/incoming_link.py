"""A connection from one member of a topic: read, deliver, acknowledge.

Everything here runs on the worker's event loop, but for :meth:`IncomingLink.read_ring`.
"""

import asyncio
import logging
from typing import Any

from daskdl.cluster.bus.acknowledging import Acknowledging
from daskdl.cluster.bus.frames import NumberedParcel, unpack
from daskdl.cluster.bus.inbox import Entry, Inbox, Received
from daskdl.cluster.bus.messages import Left
from daskdl.cluster.bus.protocol import GRACE_S
from daskdl.cluster.bus.shared_ring import SharedRing, open_ring

logger = logging.getLogger(__name__)


class IncomingLink:
    """Delivers each message of its source once and in order, over any connections.

    Parameters
    ----------
    source : str
        The publishing member.
    inbox : Inbox
        Where to deliver.
    space : asyncio.Event
        Set when something was taken from a full inbox.
    """

    def __init__(self, source: str, inbox: Inbox, space: asyncio.Event) -> None:
        self.has_ended = False
        self._source = source
        self._inbox = inbox
        self._space = space
        self._last = 0
        self._comm: Any = None
        self._ring: SharedRing | None = None
        self._is_retired = False

    @property
    def has_ring(self) -> bool:
        """Whether messages come through shared memory."""
        return self._ring is not None

    def read_ring(self, *, also_when_full: bool = False) -> None:
        """Deliver what is in shared memory, as far as it is next. From any thread.

        Parameters
        ----------
        also_when_full : bool
            Whether a full inbox takes it all the same.
        """
        with self._inbox.changed:
            ring = self._ring
            if ring is None or (number := ring.next_number()) is None:
                return
            # A later one waits for a large one, which comes over the connection.
            while number is not None and number <= self._last + 1:
                if self._inbox.is_full and not also_when_full:
                    break
                # One by one: the inbox fills while its writer goes on.
                self._deliver([ring.take()])
                number = ring.next_number()
            ring.delivered = self._last

    async def serve(self, comm: Any, ring_path: str | None) -> None:
        """Own a connection until it breaks. The newest one replaces the one before.

        Parameters
        ----------
        comm : Comm
        ring_path : str or None
            Where the publisher has made shared memory.
        """
        self.close()
        self._drop_ring()
        self._comm = comm
        self._ring = open_ring(ring_path)
        in_process = comm.peer_address.startswith("inproc://")
        acknowledging = Acknowledging(comm, lambda: self._last)
        try:
            has_ring = self._ring is not None
            await comm.write({"ok": True, "last": self._last, "ring": has_ring})
            acknowledging.start()
            while True:
                await self._wait_for_space()
                batch = unpack(await comm.read(), copy=in_process)
                # What was published before is in the ring.
                self.read_ring(also_when_full=True)
                self._deliver(batch)
                acknowledging.owe(batch)
        except Exception as error:  # noqa: BLE001
            # Whatever it was, the publisher connects again and repeats what is missing.
            logger.info("Link from member %s broke: %r", self._source, error)
        finally:
            comm.abort()
            acknowledging.stop()
            if self._comm is comm:
                self._comm = None
                self._drop_ring()
                if self._is_retired:
                    self._say_left(clean=False)

    def retire(self) -> None:
        """Mark the source as left, once its connection is read empty.

        The connection of a killed process ends by itself within milliseconds; that of a
        machine which vanished is cut off.
        """
        self._is_retired = True
        if self._comm is None:
            self._say_left(clean=False)
        else:
            asyncio.get_running_loop().call_later(GRACE_S, self._comm.abort)

    def close(self) -> None:
        """Cut the connection."""
        if self._comm is not None:
            self._comm.abort()

    def _drop_ring(self) -> None:
        """Read what is in shared memory, and let go of it."""
        self.read_ring(also_when_full=True)
        with self._inbox.changed:
            self._ring = None

    async def _wait_for_space(self) -> None:
        while self._inbox.is_full:
            self._space.clear()
            await self._space.wait()

    def _deliver(self, batch: list[NumberedParcel]) -> None:
        # Without an await, and with the lock, which a thread that reads the ring holds:
        # so that two ways of one source cannot interleave.
        with self._inbox.changed:
            received: list[Entry] = []
            for number, parcel in batch:
                if number <= self._last:
                    continue  # repeated after a break
                self._last = number
                if parcel.payload is not None:
                    received.append(Received(self._source, parcel))
            self._inbox.put(received)
            if any(parcel.payload is None for _, parcel in batch):
                self._say_left(clean=True)

    def _say_left(self, *, clean: bool) -> None:
        # In one step for the task's thread, which asks whether all have ended and all
        # was taken.
        with self._inbox.changed:
            if not self.has_ended:
                self.has_ended = True
                self._inbox.put([Left(self._source, clean)])
