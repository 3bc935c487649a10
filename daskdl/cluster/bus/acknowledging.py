"""Acknowledgements of what came over one connection: few, unless much is owed.

Everything here runs on the worker's event loop.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Any

from daskdl.cluster.bus.frames import NumberedParcel
from daskdl.cluster.bus.protocol import ACK_BYTES, ACK_MESSAGES, ACK_WITHIN_S

logger = logging.getLogger(__name__)


class Acknowledging:
    """Tells the publisher the number of the last message, soon or at once.

    Each time costs both event loops a wake-up, as much as a message. So it is told at
    once only when the publisher may wait for it, as much of its window is used or its
    last word has come.

    Parameters
    ----------
    comm : Comm
        The connection. Nobody else may write to it.
    last_number : callable
        Returns the number of the last message that was delivered.
    """

    def __init__(self, comm: Any, last_number: Callable[[], int]) -> None:
        self._comm = comm
        self._last_number = last_number
        self._is_due = asyncio.Event()
        self._messages = self._bytes = 0
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to tell whenever it is due."""
        self._task = asyncio.create_task(self._run())

    def stop(self) -> None:
        """Tell nothing more."""
        self._reset()
        if self._task is not None:
            self._task.cancel()

    def owe(self, batch: Sequence[NumberedParcel]) -> None:
        """Take note of what was delivered."""
        self._messages += len(batch)
        self._bytes += sum(parcel.nbytes for _, parcel in batch)
        is_much = self._messages >= ACK_MESSAGES or self._bytes >= ACK_BYTES
        if is_much or any(parcel.payload is None for _, parcel in batch):
            self._is_due.set()
        elif self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(ACK_WITHIN_S, self._is_due.set)

    async def _run(self) -> None:
        while True:
            await self._is_due.wait()
            self._reset()
            try:
                await self._comm.write({"ack": self._last_number()})
            except Exception as error:  # noqa: BLE001
                # Whoever reads from it sees that, and the publisher connects again.
                logger.info("An acknowledgement was not sent: %r", error)
                self._comm.abort()
                return

    def _reset(self) -> None:
        self._is_due.clear()
        self._messages = self._bytes = 0
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
