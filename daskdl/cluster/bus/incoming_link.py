"""A connection from one member of a topic: read, deliver, acknowledge.

Everything here runs on the worker's event loop.
"""

import asyncio
import logging
from typing import Any

from daskdl.cluster.bus.acknowledging import Acknowledging
from daskdl.cluster.bus.frames import NumberedParcel, unpack
from daskdl.cluster.bus.inbox import Entry, Inbox, Received
from daskdl.cluster.bus.messages import Left
from daskdl.cluster.bus.protocol import GRACE_S

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
        self._is_retired = False

    async def serve(self, comm: Any) -> None:
        """Own a connection until it breaks. The newest one replaces the one before."""
        self.close()
        self._comm = comm
        in_process = comm.peer_address.startswith("inproc://")
        acknowledging = Acknowledging(comm, lambda: self._last)
        try:
            await comm.write({"ok": True, "last": self._last})
            acknowledging.start()
            while True:
                await self._wait_for_space()
                batch = unpack(await comm.read(), copy=in_process)
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

    async def _wait_for_space(self) -> None:
        while self._inbox.is_full:
            self._space.clear()
            await self._space.wait()

    def _deliver(self, batch: list[NumberedParcel]) -> None:
        # Without an await, so that two connections of one source cannot interleave.
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
