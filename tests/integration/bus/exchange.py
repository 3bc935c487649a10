"""What the workers of the bus's integration tests run, and what they report."""

import asyncio
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from distributed import Client

from daskdl.cluster.bus import Left, Message, get_bus
from daskdl.cluster.bus.protocol import PLUGIN_NAME

WAIT_S = 40.0


@dataclass
class Exchanged:
    """What one worker took from a topic."""

    messages: dict[str, int] = field(default_factory=dict)
    is_in_order: bool = True
    left: list[Left] = field(default_factory=list)
    wall_s: float = 0.0
    stats: Any = None

    def take(self, event: Any) -> None:
        if isinstance(event, Left):
            self.left.append(event)
        if not isinstance(event, Message):
            return
        expected = self.messages.get(event.source, 0) + 1
        self.is_in_order &= event.first == event.last == expected
        self.is_in_order &= event.data[0] == event.data[-1] == expected
        self.messages[event.source] = expected


def wait_for_members(topic: Any, n: int) -> None:
    deadline = time.monotonic() + WAIT_S
    while len(topic.members()) < n:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{len(topic.members())} of {n} members came")
        time.sleep(0.005)


def all_to_all(name: str, n_workers: int, n: int, size: int) -> Exchanged:
    """Publish `n` arrays of `size` float64 and take those of the others."""
    result = Exchanged()
    x = np.zeros(size)
    with get_bus().topic(name) as topic:
        wait_for_members(topic, n_workers - 1)
        started = time.perf_counter()

        def drain() -> None:
            for event in topic.drain():
                result.take(event)

        for i in range(n):
            x[:] = i + 1
            topic.publish(x, on_block=drain)
            drain()
        topic.end()
        while not topic.finished():
            result.take(topic.get(1))
        result.wall_s = time.perf_counter() - started
    result.stats = topic.stats
    return result


@dataclass
class Lost:
    """What one worker saw of a member that was lost."""

    first_left: Left
    seen_at: float
    is_in_order: bool
    messages_after: int


def publish_until_a_member_is_lost(name: str, n_workers: int) -> Lost:
    """Publish and take until somebody goes; members that end are not waited for."""
    result = Exchanged()
    x = np.zeros(1000)
    with get_bus().topic(name) as topic:
        wait_for_members(topic, n_workers - 1)
        deadline = time.monotonic() + WAIT_S
        while not result.left:
            if time.monotonic() > deadline:
                raise TimeoutError("nobody was lost")
            x += 1
            topic.publish(x, timeout_s=WAIT_S)
            result.take(topic.get(0.001))
        seen_at = time.time()
        rest = topic.drain()
    first = result.left[0]
    after = [e for e in rest if isinstance(e, Message) and e.source == first.member]
    return Lost(first, seen_at, result.is_in_order, len(after))


def open_topics(worker: Any) -> list[Any]:
    """Return the open topics of a worker; one that has just begun has no bus yet."""
    bus = worker.plugins.get(PLUGIN_NAME)
    return [] if bus is None else list(bus._open.values())


async def break_connections_for(
    seconds: float, pause_s: float, dask_worker: Any = None
) -> int:
    """Cut what comes in to every topic of the worker, again and again."""
    deadline = time.monotonic() + seconds
    n_broken = 0
    while time.monotonic() < deadline:
        await asyncio.sleep(pause_s)
        for opened in open_topics(dask_worker):
            for peer in opened.peers._peers.values():
                n_broken += peer.incoming._comm is not None
                peer.incoming.close()
    return n_broken


def left_over(dask_worker: Any = None) -> list[str]:
    """Return the topics and tasks of the bus that are still there."""
    topics = [f"topic {each.name}" for each in open_topics(dask_worker)]
    tasks = [repr(task) for task in asyncio.all_tasks(dask_worker.loop.asyncio_loop)]
    return topics + [task for task in tasks if "cluster/bus" in task]


def has_received(dask_worker: Any = None) -> bool:
    """Return whether every open topic of the worker got something, and one is open."""
    opened = open_topics(dask_worker)
    got = [each.topic.stats.messages_received for each in opened]
    return bool(got) and min(got) > 0


def submit_to_each(client: Client, function: Any, *args: Any) -> dict[str, Any]:
    """Start a function as one task on every worker; return the futures by worker."""
    return {
        address: client.submit(function, *args, workers=[address], pure=False)
        for address in client.nthreads()
    }


def assert_nothing_left(client: Client) -> None:
    deadline = time.monotonic() + WAIT_S
    while any(left := client.run(left_over).values()):
        if time.monotonic() > deadline:
            raise AssertionError(list(left))
        time.sleep(0.01)
