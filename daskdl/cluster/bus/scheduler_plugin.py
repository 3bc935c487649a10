"""The bus on the scheduler: keeps the registry and tells the workers of changes.

It never sees a message. A new worker is no member yet: it has no plugins when the
scheduler hears of it, so a member begins with a call from its own worker.

It also gives the plugins to workers that come, and takes everything off the cluster,
itself included, when nobody needs it any more.
"""

import asyncio
import logging
import platform
import uuid
from collections.abc import Coroutine, Iterable
from contextlib import suppress
from typing import Any

from distributed.diagnostics.plugin import SchedulerPlugin
from distributed.protocol.pickle import dumps
from distributed.protocol.serialize import Serialized, deserialize

from daskdl.cluster.bus.holders import Holder, end_holder, forget_events
from daskdl.cluster.bus.housekeeping import Housekeeping
from daskdl.cluster.bus.plugin_lifecycle import stop_plugins, travelling_start
from daskdl.cluster.bus.probing import wrong_python
from daskdl.cluster.bus.protocol import (
    JOIN_OP,
    LEAVE_OP,
    PLUGIN_NAME,
    REPORT_OP,
    VIEW_OP,
)
from daskdl.cluster.bus.registry import Entry, Registry, View
from daskdl.cluster.log_filters import asked_often
from daskdl.errors import ClusterError

logger = logging.getLogger(__name__)

TELL_TIMEOUT_S = 5.0
TELL_AGAIN_S = (0.1, 0.5, 2.0)
# A joining member waits so long for the others to know it. Who takes longer learns
# later.
JOIN_TIMEOUT_S = 2.0
# A newcomer imports daskdl first. Who leaves waits at most so long for a worker that
# is stopped; it stops its plugins when it goes on.
START_TIMEOUT_S = 60.0
REACH_AGAIN_S = 0.5
STOP_TIMEOUT_S = 5.0


class BusSchedulerPlugin(SchedulerPlugin):  # type: ignore[misc]
    """The only source of truth on the members of topics."""

    name = PLUGIN_NAME
    idempotent = True  # a second client must not replace the registry

    def __init__(self) -> None:
        self.generation = uuid.uuid4().hex
        self._scheduler: Any = None
        self._housekeeping: Any = None
        self._registry = Registry()
        self._telling: dict[tuple[str, str], asyncio.Task[None]] = {}
        self._holders: dict[str, Holder] = {}
        self._pickled: dict[str, bytes] = {}
        # What came of giving newcomers the plugins; None if they have them.
        self.newcomers: dict[str, str | None] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._leaving: asyncio.Task[None] | None = None
        self._is_closed = False

    async def start(self, scheduler: Any) -> None:
        """Answer the workers from now on."""
        self._scheduler = scheduler
        self._housekeeping = Housekeeping(scheduler)
        scheduler.handlers[JOIN_OP] = self._join
        scheduler.handlers[LEAVE_OP] = self._leave
        scheduler.handlers[VIEW_OP] = self._view
        scheduler.handlers[REPORT_OP] = self._report

    async def close(self) -> None:
        """Stop telling; called when the scheduler closes."""
        self._is_closed = True
        tasks = [*self._telling.values(), *self._tasks]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def hold(self, name: str, holder: Holder, pickled: dict[str, bytes]) -> bool:
        """Count a user of the bus; False if it is about to leave."""
        if self._leaving is not None:
            await asyncio.wait([self._leaving])
            return False
        if name not in self._holders:
            self._housekeeping.hold()
        self._holders[name] = holder
        self._pickled.update(pickled)
        return True

    def release(self, name: str) -> asyncio.Task[None] | None:
        """Drop a user of the bus; return the task that ends it after the last one."""
        holder = self._holders.pop(name, None)
        if holder is not None:
            self._housekeeping.release()
            if holder.events is not None:
                forget_events(self._scheduler, holder.events)
        if not self._holders and self._leaving is None and not self._is_closed:
            self._leaving = self._begin(self._leave_the_cluster())
        return self._leaving

    def remove_client(self, scheduler: Any, client: str) -> None:
        """Drop the users of the bus whose client is gone, and end what they do."""
        names = [name for name, of in self._holders.items() if of.client == client]
        for name in names:
            # Others may hold the bus, and the plugins stay.
            self._begin(self._end(name))
            self.release(name)

    def add_worker(self, scheduler: Any, worker: str) -> None:
        """Give a newcomer the plugins, beside its registration."""
        if not self._is_closed and self._leaving is None:
            self._begin(self._give_plugins(worker))

    def remove_worker(self, scheduler: Any, worker: str, **kwargs: Any) -> None:
        """Tell the members that are left; called in the tick of the loss."""
        self.newcomers.pop(worker, None)
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

    async def _report(self, topic: str, message: dict[str, Any]) -> dict[str, Any]:
        # Nothing else runs between the look and the event: none is left behind.
        is_held = any(of.events == topic for of in self._holders.values())
        if is_held:
            self._scheduler.log_event(topic, message)
        return {"ok": True, "held": is_held}

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

    def _begin(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _give_plugins(self, address: str) -> None:
        wrong = await self._in_words(self._reach(address), START_TIMEOUT_S)
        if address not in self._scheduler.workers:
            return
        self.newcomers[address] = wrong
        if wrong is not None:
            logger.warning(
                "Worker %s must have the Python and the daskdl of the scheduler to "
                "take part, got: %s. It is left out.",
                address,
                wrong,
            )

    async def _reach(self, address: str) -> str | None:
        """Start the plugins on a worker; try again as long as it is there.

        A connection that breaks says nothing of what the worker can do. Mostly it was
        killed, which the scheduler learns in a moment.
        """
        while address in self._scheduler.workers:
            with suppress(OSError):
                return await self._start_on(address)
            await asyncio.sleep(REACH_AGAIN_S)
        return None

    async def _start_on(self, address: str) -> str | None:
        """Start the plugins on a worker; return in words why it cannot take them."""
        # First: code that travels means something else to another Python.
        python = await self._ask(address, platform.python_version)
        if (wrong := wrong_python(python)) is not None:
            return wrong
        started: str | None = await self._ask(
            address, travelling_start(), self._pickled, self.generation
        )
        return started

    async def _end(self, holder: str) -> None:
        plugins = list(self._pickled)
        ending = (
            self._in_words(
                self._ask(address, end_holder, plugins, holder), STOP_TIMEOUT_S
            )
            for address in list(self._scheduler.workers)
        )
        await asyncio.gather(*ending)

    async def _leave_the_cluster(self) -> None:
        scheduler, names = self._scheduler, list(self._pickled)
        # First, while the workers' members can still say that they leave.
        stopping = (
            self._in_words(
                self._ask(address, stop_plugins, names, self.generation), STOP_TIMEOUT_S
            )
            for address in list(scheduler.workers)
        )
        await asyncio.gather(*stopping)
        self._is_closed = True
        for operation in (JOIN_OP, LEAVE_OP, VIEW_OP, REPORT_OP):
            scheduler.handlers.pop(operation, None)
        scheduler.remove_plugin(name=PLUGIN_NAME)

    async def _in_words(
        self, work: Coroutine[Any, Any, str | None], timeout_s: float
    ) -> str | None:
        """Return the result of a call to a worker, or in words why it failed."""
        try:
            return await asyncio.wait_for(work, timeout_s)
        except asyncio.TimeoutError:
            return f"no answer in {timeout_s:g} s"
        except ClusterError as error:
            return str(error)
        except Exception as error:  # noqa: BLE001
            # Whatever it is, it concerns that worker alone.
            return repr(error)

    async def _ask(self, address: str, function: Any, *args: Any) -> Any:
        """Run a function on a worker and return its result."""
        reply = await self._scheduler.rpc(address).run(
            function=dumps(function), args=dumps(args)
        )
        if reply["status"] != "OK":
            raise ClusterError(str(reply.get("exception_text", reply)))
        result = reply["result"]
        # The scheduler hands on what passes through it without looking inside.
        if isinstance(result, Serialized):
            return deserialize(result.header, result.frames)
        return result

    async def _call(self, address: str, view: View) -> bool:
        call = getattr(self._scheduler.rpc(address), VIEW_OP)
        try:
            reply = await asyncio.wait_for(call(view=view.to_message()), TELL_TIMEOUT_S)
        except Exception as error:  # noqa: BLE001
            # The worker may be going; or its handler failed, which must not stop this.
            logger.info("Topic %r: %s was not told: %r", view.topic, address, error)
            return False
        return isinstance(reply, dict) and bool(reply.get("ok"))


async def hold(
    name: str, holder: Holder, pickled: dict[str, bytes], dask_scheduler: Any
) -> str:
    """Need the bus on the cluster, and bring it there. Runs on the scheduler.

    Returns
    -------
    generation : str
        For :func:`daskdl.cluster.bus.plugin_lifecycle.start_plugins`.
    """
    while True:
        if PLUGIN_NAME not in dask_scheduler.plugins:
            plugin = BusSchedulerPlugin()
            await plugin.start(dask_scheduler)
            dask_scheduler.add_plugin(plugin, name=PLUGIN_NAME)
        plugin = dask_scheduler.plugins[PLUGIN_NAME]
        if await plugin.hold(name, holder, pickled):
            return str(plugin.generation)


async def release(name: str, dask_scheduler: Any) -> None:
    """Need the bus no longer. Runs on the scheduler; returns when it is off."""
    plugin = dask_scheduler.plugins.get(PLUGIN_NAME)
    if plugin is not None and (leaving := plugin.release(name)) is not None:
        await asyncio.wait([leaving])


@asked_often
def newcomers(dask_scheduler: Any) -> dict[str, str | None]:
    """Return workers that joined since, and why any cannot take part, on the scheduler.

    Who can has None; whoever is still asked is not there.
    """
    plugin = dask_scheduler.plugins.get(PLUGIN_NAME)
    return dict(plugin.newcomers) if plugin is not None else {}


def evict(topic: str, address: str, dask_scheduler: Any) -> None:
    """Remove a worker that no longer answers from a topic. Runs on the scheduler.

    If it wakes up, its own member finds that it is no longer counted, and is aborted.
    """
    if PLUGIN_NAME in dask_scheduler.plugins:
        dask_scheduler.plugins[PLUGIN_NAME].evict(topic, address)
