"""Pub and Sub, as tasks use them."""

import asyncio

import pytest

from daskdl.cluster.bus import Pub, Sub
from daskdl.errors import BusClosedError, StepTimeoutError
from tests.unit.bus.clusters import bus_cluster, close_topics, in_thread


@bus_cluster()
async def test_every_sub_gets_what_every_pub_puts(client, scheduler, *buses):
    a, b = (bus._worker for bus in buses)
    subs = [await in_thread(Sub, "x", worker) for worker in (a, a, b)]
    pubs = [await in_thread(Pub, "x", worker) for worker in (a, b)]
    for pub in pubs:
        await in_thread(pub.put, repr(pub._topic.me))
    for sub in subs:
        got = {await in_thread(sub.get, 10) for _ in pubs}
        assert got == {repr(pub._topic.me) for pub in pubs}
    await close_topics(*subs, *pubs)


@bus_cluster()
async def test_between_tasks(client, scheduler, *buses):
    """As in the documentation of distributed 2024.8."""

    def subscribe():
        with Sub("x") as sub:
            ready.set()
            return [message for message, _ in zip(sub, range(3), strict=False)]

    def publish():
        with Pub("x") as pub:
            for i in range(4):
                pub.put(i)

    ready = asyncio.Event()
    a, b = (bus._worker.address for bus in buses)
    subscribing = client.submit(subscribe, workers=[a], pure=False)
    while not scheduler.plugins["daskdl-bus-1"]._registry.workers():
        await asyncio.sleep(0.001)
    await client.submit(publish, workers=[b], pure=False)
    assert await subscribing == [0, 1, 2]


@bus_cluster()
async def test_sub_is_iterated(client, scheduler, *buses):
    sub = await in_thread(Sub, "x", buses[0]._worker)
    pub = await in_thread(Pub, "x", buses[1]._worker)
    for i in range(3):
        await in_thread(pub.put, i)
    assert [await in_thread(next, iter(sub)) for _ in range(3)] == [0, 1, 2]
    await close_topics(sub, pub)


@bus_cluster()
async def test_sub_is_awaited_in_a_coroutine(client, scheduler, *buses):
    sub = await in_thread(Sub, "x", buses[0]._worker)
    pub = await in_thread(Pub, "x", buses[1]._worker)
    await in_thread(pub.put, 1)
    assert await sub.get_async("10s") == 1
    await close_topics(sub, pub)


@bus_cluster()
async def test_get_gives_up_after_its_time(client, scheduler, *buses):
    sub = await in_thread(Sub, "x", buses[0]._worker)
    with pytest.raises(StepTimeoutError, match=r"must come within 0\.01 s"):
        await in_thread(sub.get, "10ms")
    await close_topics(sub)


@bus_cluster()
async def test_get_without_a_time_ends_when_the_worker_closes(
    client, scheduler, *buses
):
    sub = await in_thread(Sub, "x", buses[0]._worker)
    waiting = asyncio.create_task(in_thread(sub.get))
    await asyncio.sleep(0)
    await buses[0]._worker.close()
    with pytest.raises(BusClosedError, match="must be open"):
        await waiting


@bus_cluster()
async def test_pub_knows_its_subscribers(client, scheduler, *buses):
    pub = await in_thread(Pub, "x", buses[0]._worker)
    other = await in_thread(Pub, "x", buses[1]._worker)
    assert pub.subscribers == {}
    sub = await in_thread(Sub, "x", buses[1]._worker)
    assert pub.subscribers == {buses[1]._worker.address: {}}
    await close_topics(pub, other, sub)


@bus_cluster()
async def test_repr_names_the_topic(client, scheduler, *buses):
    pub = await in_thread(Pub, "x", buses[0]._worker)
    assert repr(pub) == "<Pub: x>"
    await close_topics(pub)
