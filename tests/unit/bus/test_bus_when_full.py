"""What a slow subscriber costs, and gets, in each mode."""

import asyncio

import numpy as np
import pytest

from daskdl.cluster.bus import Message
from daskdl.cluster.bus.protocol import WINDOW_BYTES
from daskdl.errors import StepTimeoutError
from tests.unit.bus.clusters import (
    bus_cluster,
    close_topics,
    in_thread,
    open_topics,
    publish_until_it_fails,
    take,
)

N = 200
SIZE = 50_000  # float64: 400 KB
MESSAGE_BYTES = 8 * SIZE + 1000
BOUNDS = {"max_queue": 4, "inbox_bytes": 2 * 2**20}
# Four wait; the window lets one begin while it is not yet full.
MOST_QUEUED_BYTES = 4 * MESSAGE_BYTES + WINDOW_BYTES + MESSAGE_BYTES
# Read on until it is full, and one batch of up to 1 MiB may follow.
MOST_INBOX_BYTES = 2 * 2**20 + 2**20 + MESSAGE_BYTES


def add_up(queued):
    return np.sum(queued, axis=0)


async def publish_to_a_stalled_subscriber(buses, when_full):
    """Publish N arrays of ones while the subscriber takes nothing, if that works."""
    a, b = await open_topics(buses, when_full=when_full, **BOUNDS)
    for _ in range(N):
        await in_thread(a.publish, np.ones(SIZE))
    await in_thread(a.end)
    messages = []
    while not b.finished():
        event = await in_thread(b.get, 10)
        if isinstance(event, Message):
            messages.append(event)
    await close_topics(a, b)
    return messages, a.stats, b.stats


@bus_cluster()
async def test_merge_keeps_the_sum_in_bounded_memory(client, scheduler, *buses):
    messages, sent, received = await publish_to_a_stalled_subscriber(buses, add_up)
    assert sum(message.data[0] for message in messages) == N
    assert len(messages) < N
    assert sent.peak_queued_bytes <= MOST_QUEUED_BYTES
    assert received.peak_inbox_bytes <= MOST_INBOX_BYTES


@bus_cluster()
async def test_merged_messages_say_which_they_stand_for(client, scheduler, *buses):
    messages, sent, _ = await publish_to_a_stalled_subscriber(buses, add_up)
    edges = [0]
    for message in messages:
        assert message.first == edges[-1] + 1
        assert message.data[0] == message.last - message.first + 1
        edges.append(message.last)
    assert edges[-1] == N
    assert sent.merged > 0
    assert sent.blocked_s == 0


@bus_cluster()
async def test_drop_oldest_keeps_the_newest_in_bounded_memory(
    client, scheduler, *buses
):
    messages, sent, received = await publish_to_a_stalled_subscriber(
        buses, "drop_oldest"
    )
    assert messages[-1].last == N
    assert len(messages) == N - sent.dropped
    assert sent.dropped > 0
    assert sent.peak_queued_bytes <= MOST_QUEUED_BYTES
    assert received.peak_inbox_bytes <= MOST_INBOX_BYTES


@bus_cluster()
async def test_block_waits_for_the_subscriber_in_bounded_memory(
    client, scheduler, *buses
):
    a, b = await open_topics(buses, **BOUNDS)

    def publish():
        for _ in range(N):
            a.publish(np.ones(SIZE))

    publishing = asyncio.create_task(in_thread(publish))
    # Stalled: the queue stays full, whatever the event loop does.
    while not (a.stats.messages_sent and not a.has_room(MESSAGE_BYTES)):
        await asyncio.sleep(0.001)
    messages = await take(b, Message, N)
    await publishing
    assert [message.last for message in messages] == list(range(1, N + 1))
    assert a.stats.blocked_s > 0
    assert a.stats.peak_queued_bytes <= MOST_QUEUED_BYTES
    assert b.stats.peak_inbox_bytes <= MOST_INBOX_BYTES
    await close_topics(a, b)


@bus_cluster(3)
async def test_there_is_room_as_long_as_publishing_does_not_wait(
    client, scheduler, *buses
):
    a, b, c = await open_topics(buses, **BOUNDS)
    assert a.has_room(MESSAGE_BYTES, b.me)
    with pytest.raises(StepTimeoutError):
        await publish_until_it_fails(a, np.ones(SIZE), to=b.me, timeout_s=1.0)
    assert not a.has_room(MESSAGE_BYTES, b.me)
    assert a.has_room(MESSAGE_BYTES, c.me)
    assert not a.has_room(MESSAGE_BYTES)
    await close_topics(b, c, a)


@bus_cluster()
async def test_publish_that_finds_no_room_in_time_sends_to_nobody(
    client, scheduler, *buses
):
    a, b = await open_topics(buses, inbox_bytes=1, max_queue=1)
    with pytest.raises(StepTimeoutError, match="a subscriber is not keep") as caught:
        await publish_until_it_fails(a, np.ones(SIZE), timeout_s=0.2)
    n = caught.value.published
    messages = await take(b, Message, n)
    assert await in_thread(a.publish, "next") == n + 1
    [message] = await take(b, Message)
    assert (len(messages), message.data) == (n, "next")
    await close_topics(a, b)


@bus_cluster(3)
async def test_slow_subscriber_gets_merged_and_fast_one_all(client, scheduler, *buses):
    fast = await in_thread(buses[1].topic, "t")
    slow = await in_thread(buses[2].topic, "t", inbox_bytes=2**20)
    a = await in_thread(buses[0].topic, "t", when_full=add_up, max_queue=4)
    all_of_it = []
    for _ in range(N):
        await in_thread(a.publish, np.ones(SIZE))
        all_of_it += await take(fast, Message)
    merged = await take(slow, Message)
    while merged[-1].last < N:
        merged += await take(slow, Message)
    assert [message.last for message in all_of_it] == list(range(1, N + 1))
    assert sum(message.data[0] for message in merged) == N
    assert len(merged) < N
    await close_topics(a, fast, slow)


@bus_cluster()
async def test_failing_merge_loses_nothing(client, scheduler, *buses):
    fails = True

    def merge(queued):
        if fails:
            raise ZeroDivisionError("merge")
        return add_up(queued)

    a, b = await open_topics(buses, when_full=merge, inbox_bytes=1, max_queue=2)
    with pytest.raises(ZeroDivisionError, match="merge") as caught:
        await publish_until_it_fails(a, np.ones(SIZE))
    n = caught.value.published
    fails = False
    await in_thread(a.publish, np.ones(SIZE))
    await in_thread(a.end)
    total = 0
    while total < n + 1:
        [message] = await take(b, Message)
        total += message.data[0]
    assert total == n + 1
    await close_topics(a, b)
