"""The bus on the scheduler: keeps the registry and tells the workers of changes.

It never sees a message. `SchedulerPlugin.add_worker` is not used: it is called before
the new worker has its plugins, so a member begins with a call from its own worker.
"""

import asyncio
import logging
from collections.abc import Iterable
from typing import Any

from distributed.diagnostics.plugin import SchedulerPlugin

from daskdl.cluster.bus.protocol import (
    JOIN_OP,
    LEAVE_OP,
    PLUGIN_NAME,
    VIEW_OP,
)
from daskdl.cluster.bus.registry import Entry, Registry, View

logger = logging.getLogger(__name__)

TELL_TIMEOUT_S = 5.0
TELL_AGAIN_S = (0.1, 0.5, 2.0)
# A joining member waits so long for the others to know it. Who takes longer learns
# later.
JOIN_TIMEOUT_S = 2.0


class BusSchedulerPlugin(SchedulerPlugin):  # type: ignore[misc]
    """The only source of truth on who is a member of what."""

    name = PLUGIN_NAME
    idempotent = True  # a second client must not replace the registry

    def __init__(self) -> None:
        self._scheduler: Any = None
        self._registry = Registry()
        self._telling: dict[tuple[str, str], asyncio.Task[None]] = {}
        self._is_closed = False

    async def start(self, scheduler: Any) -> None:
        """Answer the workers from now on."""
        self._scheduler = scheduler
        scheduler.handlers[JOIN_OP] = self._join
        scheduler.handlers[LEAVE_OP] = self._leave
        scheduler.handlers[VIEW_OP] = self._view

    async def close(self) -> None:
        """Stop telling; called when the scheduler closes."""
        self._is_closed = True
        tasks = list(self._telling.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def remove_worker(self, scheduler: Any, worker: str, **kwargs: Any) -> None:
        """Tell the members that are left; called in the tick of the loss."""
        for topic in self._registry.remove_worker(worker):
            self._tell(topic)

    def evict(self, topic: str, address: str) -> None:
        """Remove a worker's members from a topic, as if the worker were gone."""
        if self._registry.evict(topic, address):
            self._tell(topic)

    def restart(self, scheduler: Any) -> None:
        """Forget everyone; all workers are new."""
        self._registry.clear()

    def valid_workers_downscaling(
        self, scheduler: Any, workers: Iterable[Any]
    ) -> list[Any]:
        """Keep adaptive scaling from closing a worker with open topics."""
        busy = self._registry.workers()
        return [worker for worker in workers if worker.address not in busy]

    async def _join(
        self, topic: str, member: str, address: str, meta: str, receives: bool
    ) -> dict[str, Any]:
        if address not in self._scheduler.workers:
            return {"ok": False, "reason": f"{address} is not a worker"}
        self._registry.join(topic, member, Entry(address, meta, receives))
        telling = self._tell(topic)
        if telling:
            await asyncio.wait(telling, timeout=JOIN_TIMEOUT_S)
        return {"ok": True, "view": self._registry.view(topic).to_message()}

    async def _leave(
        self, topic: str, member: str, known: list[str] | None = None
    ) -> dict[str, Any]:
        if known is not None and self._registry.newcomers(topic, {member, *known}):
            view = self._registry.view(topic).to_message()
            return {"ok": True, "left": False, "view": view}
        if self._registry.leave(topic, member):
            self._tell(topic)
        return {"ok": True, "left": True}

    async def _view(self, topic: str) -> dict[str, Any]:
        return {"ok": True, "view": self._registry.view(topic).to_message()}

    def _tell(self, topic: str) -> list["asyncio.Task[None]"]:
        """Start to tell all members' workers, one task each."""
        if self._is_closed:
            return []
        addresses = self._registry.addresses(topic)
        return [self._start_to_tell(topic, address) for address in addresses]

    def _start_to_tell(self, topic: str, address: str) -> "asyncio.Task[None]":
        # A task that is under way tells the newest view when it gets there: many
        # changes at once cost few calls.
        key = (topic, address)
        if key not in self._telling:
            self._telling[key] = asyncio.create_task(self._tell_worker(topic, address))
        return self._telling[key]

    async def _tell_worker(self, topic: str, address: str) -> None:
        told = -1
        failures = 0
        try:
            while address in self._registry.addresses(topic):
                view = self._registry.view(topic)
                if view.epoch == told:
                    return
                if await self._call(address, view):
                    told = view.epoch
                    continue
                if failures == len(TELL_AGAIN_S):
                    # It asks for itself as soon as one of its links has trouble.
                    logger.warning("Topic %r: %s cannot be told", topic, address)
                    return
                await asyncio.sleep(TELL_AGAIN_S[failures])
                failures += 1
        finally:
            del self._telling[topic, address]

    async def _call(self, address: str, view: View) -> bool:
        call = getattr(self._scheduler.rpc(address), VIEW_OP)
        try:
            reply = await asyncio.wait_for(call(view=view.to_message()), TELL_TIMEOUT_S)
        except Exception as error:  # noqa: BLE001
            # The worker may be going; or its handler failed, which must not stop this.
            logger.info("Topic %r: %s was not told: %r", view.topic, address, error)
            return False
        return isinstance(reply, dict) and bool(reply.get("ok"))


def evict(topic: str, address: str, dask_scheduler: Any) -> None:
    """Remove a worker that no longer answers from a topic. Runs on the scheduler.

    If it wakes up, its own member finds that it is no longer counted, and is aborted.
    """
    dask_scheduler.plugins[PLUGIN_NAME].evict(topic, address)
