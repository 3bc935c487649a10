"""A cluster in the test's own event loop with the bus on it, and what must be left."""

import asyncio
import functools
from collections.abc import Callable
from typing import Any

from distributed.utils_test import async_poll_for, gen_cluster

from daskdl.cluster.bus import install
from daskdl.cluster.bus.protocol import PLUGIN_NAME

TEST_TIMEOUT_S = 50


def bus_cluster(n_workers: int = 2, **options: Any) -> Callable[[Any], Any]:
    """Run an ``async def test(client, scheduler, *buses)`` and check what it leaves."""

    def wrap(test):
        # Not functools.wraps: pytest would take the arguments for fixtures.
        async def with_bus(client, scheduler, *workers):
            await install(client)
            buses = [worker.plugins[PLUGIN_NAME] for worker in workers]
            await test(client, scheduler, *buses)
            await nothing_left(scheduler, buses)

        with_bus.__name__ = test.__name__
        with_bus.__doc__ = test.__doc__
        return gen_cluster(
            client=True,
            nthreads=[("", 1)] * n_workers,
            timeout=TEST_TIMEOUT_S,
            **options,
        )(with_bus)

    return wrap


async def nothing_left(scheduler: Any, buses: list[Any]) -> None:
    """Wait until no topic, no member and no task of the bus is left."""
    await async_poll_for(lambda: not any(bus._open for bus in buses), timeout=20)
    if PLUGIN_NAME in scheduler.plugins:
        registry = scheduler.plugins[PLUGIN_NAME]._registry
        await async_poll_for(lambda: not registry.workers(), timeout=20)
    await async_poll_for(lambda: not bus_tasks(), timeout=20)


def bus_tasks() -> list[asyncio.Task]:
    """Return the tasks that run code of the bus, below whatever awaits it."""
    return [task for task in asyncio.all_tasks() if _is_in_bus(task)]


def _is_in_bus(task: asyncio.Task) -> bool:
    awaited: Any = task.get_coro()
    while awaited is not None:
        code = getattr(awaited, "cr_code", None)
        if code is not None and "cluster/bus" in code.co_filename:
            return code.co_name != "with_bus"
        awaited = getattr(awaited, "cr_await", None)
    return False


async def in_thread(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function as a task's thread would."""
    return await asyncio.to_thread(functools.partial(function, *args, **kwargs))


async def open_topics(buses: Any, name: str = "t", **options: Any) -> list[Any]:
    """Open the topic on every worker, one after the other."""
    return [await in_thread(bus.topic, name, **options) for bus in buses]


async def close_topics(*topics: Any) -> list[bool]:
    """Close all at once, each in a thread."""
    return await asyncio.gather(*(in_thread(topic.close) for topic in topics))


async def take(topic: Any, kind: type, n: int = 1, timeout_s: float = 10) -> list[Any]:
    """Return the next `n` events of a kind; others are skipped."""
    found: list[Any] = []
    while len(found) < n:
        event = await in_thread(topic.get, timeout_s)
        if event is None:
            raise TimeoutError(f"{len(found)} of {n} {kind.__name__} came")
        if isinstance(event, kind):
            found.append(event)
    return found


async def publish_until_it_fails(topic: Any, data: Any, **options: Any) -> int:
    """Publish again and again; when that raises, its `published` says how often."""
    published = 0
    try:
        while True:
            await in_thread(topic.publish, data, **options)
            published += 1
    except Exception as error:
        error.published = published
        raise


def break_connections(topic: Any) -> int:
    """Cut what comes in to a topic, as a failing network would."""
    incoming_links = [peer.incoming for peer in topic._peers._peers.values()]
    live = [incoming for incoming in incoming_links if incoming._comm is not None]
    for incoming in live:
        incoming.close()
    return len(live)
