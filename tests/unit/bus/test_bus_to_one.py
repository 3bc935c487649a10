"""Messages to one member of a topic."""

import asyncio

import numpy as np
from distributed.utils_test import async_poll_for

from daskdl.cluster.bus import Left, Message
from tests.unit.bus.clusters import bus_cluster, close_topics, in_thread, open_topics

SIZE = 100_000


async def data_until_left(topic, source):
    """Return what a member sent to a topic, until it left."""
    data = []
    while True:
        event = await in_thread(topic.get, 10)
        if isinstance(event, Message) and event.source == source:
            data.append(event.data)
        if isinstance(event, Left) and event.member == source:
            return data


@bus_cluster(3)
async def test_only_the_one_that_is_named_gets_it(client, scheduler, *buses):
    a, b, c = await open_topics(buses)
    await in_thread(a.publish, "for b", to=b.me)
    await in_thread(a.publish, "for all")
    await in_thread(a.end)
    assert await data_until_left(b, a.me) == ["for b", "for all"]
    assert await data_until_left(c, a.me) == ["for all"]
    await close_topics(a, b, c)


@bus_cluster(3)
async def test_messages_to_one_and_to_all_keep_their_order(client, scheduler, *buses):
    a, b, c = await open_topics(buses)
    for number in range(0, 40, 2):
        await in_thread(a.publish, number, to=b.me)
        await in_thread(a.publish, number + 1)
    await in_thread(a.end)
    assert await data_until_left(b, a.me) == list(range(40))
    assert await data_until_left(c, a.me) == list(range(1, 40, 2))
    await close_topics(a, b, c)


@bus_cluster(3)
async def test_bytes_are_those_of_one_copy(client, scheduler, *buses):
    a, b, c = await open_topics(buses)
    data = np.ones(SIZE)
    await in_thread(a.publish, data, to=b.me)
    await async_poll_for(lambda: a.stats.messages_sent == 1, timeout=20)
    assert data.nbytes < a.stats.bytes_sent < 1.01 * data.nbytes
    await close_topics(a, b, c)


@bus_cluster()
async def test_a_member_that_is_gone_gets_nothing(client, scheduler, *buses):
    a, b = await open_topics(buses)
    gone = b.me
    await close_topics(b)
    await async_poll_for(lambda: not a.members(), timeout=20)
    await in_thread(a.publish, 1, to=gone)
    assert a.stats.messages_sent == 0
    await close_topics(a)


@bus_cluster()
async def test_a_whole_message_is_not_merged(client, scheduler, *buses):
    """It waits for room where others would be merged with what waits."""
    bounds = {"max_queue": 1, "inbox_bytes": 8 * SIZE}
    a, b = await open_topics(buses, when_full=sum, **bounds)
    for _ in range(3):
        await in_thread(a.publish, np.ones(SIZE), is_whole=True, to=b.me)

    def publish():
        for _ in range(20):
            a.publish(np.ones(SIZE), is_whole=True)

    sending = asyncio.create_task(in_thread(publish))
    received = []
    while len(received) < 23:
        event = await in_thread(b.get, 10)
        if isinstance(event, Message):
            received.append(event.data[0])
    await sending
    assert received == [1.0] * 23
    assert a.stats.merged == 0
    await close_topics(a, b)
