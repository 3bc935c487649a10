"""A worker's questions to the scheduler: join, leave, who is there."""

import asyncio
from typing import Any

from daskdl.cluster.bus.protocol import (
    CONTROL_TIMEOUT_S,
    JOIN_OP,
    LEAVE_OP,
    REPORT_OP,
    VIEW_OP,
)
from daskdl.cluster.bus.registry import Entry, View
from daskdl.errors import ClusterError


class NotInstalledError(ClusterError):
    """The scheduler has no bus, or no longer."""


class Control:
    """Calls the bus on the scheduler; every call has a time limit.

    Parameters
    ----------
    worker : distributed.Worker
        Whose connection to the scheduler is used.
    """

    def __init__(self, worker: Any) -> None:
        self._scheduler = worker.scheduler

    async def join(self, topic: str, member: str, entry: Entry) -> View:
        """Enter a member; the others know it when this returns.

        A worker that does not answer is waited for only shortly, and learns of the
        member when it answers again.
        """
        reply = await self._ask(
            JOIN_OP,
            topic=topic,
            member=member,
            address=entry.address,
            meta=entry.meta,
            receives=entry.receives,
        )
        return View.from_message(reply["view"])

    async def leave(
        self, topic: str, member: str, *, known: list[str] | None = None
    ) -> View | None:
        """Remove a member.

        Parameters
        ----------
        topic, member : str
            Which member of which topic.
        known : list of str, optional
            If given, the member stays while there are others that it does not know. It
            owes them its last word.

        Returns
        -------
        view : View or None
            The members, when the member stays; None when it has left.
        """
        reply = await self._ask(LEAVE_OP, topic=topic, member=member, known=known)
        return None if reply["left"] else View.from_message(reply["view"])

    async def view(self, topic: str) -> View:
        """Return the members of a topic."""
        reply = await self._ask(VIEW_OP, topic=topic)
        return View.from_message(reply["view"])

    async def report(self, topic: str, message: dict[str, Any]) -> bool:
        """Log an event for the holder of a topic; False if it is held no longer."""
        reply = await self._ask(REPORT_OP, topic=topic, message=message)
        return bool(reply["held"])

    async def _ask(self, operation: str, **arguments: Any) -> dict[str, Any]:
        call = getattr(self._scheduler, operation)
        try:
            reply = await asyncio.wait_for(call(**arguments), CONTROL_TIMEOUT_S)
        except Exception as error:
            raise ClusterError(
                f"Bus: the scheduler must answer {operation} within "
                f"{CONTROL_TIMEOUT_S:g} s, got {error!r}."
            ) from error
        # None is Dask's answer to an operation that it does not know.
        if not isinstance(reply, dict):
            raise NotInstalledError(
                f"Bus: the scheduler must have it installed, {operation} was answered "
                f"with {reply!r}. Call daskdl.cluster.bus.install(client) first."
            )
        if not reply["ok"]:
            raise ClusterError(
                f"Bus: the scheduler must accept {operation}, "
                f"it says {reply['reason']}."
            )
        return reply
