"""Topics between workers in one event loop."""

import asyncio

import numpy as np
import pytest
from distributed.utils_test import async_poll_for, gen_cluster

from daskdl.cluster.bus import (
    Joined,
    Left,
    Member,
    Message,
    get_bus,
    install,
    this_worker,
)
from daskdl.errors import BusClosedError, ClusterError, OptionError, StepTimeoutError
from tests.unit.bus.clusters import (
    break_connections,
    bus_cluster,
    close_topics,
    in_thread,
    open_topics,
    publish_until_it_fails,
    take,
)


@bus_cluster()
async def test_message_arrives_with_source_topic_and_number(client, scheduler, *buses):
    a, b = await open_topics(buses)
    number = await in_thread(a.publish, {"x": 1})
    [message] = await take(b, Message)
    assert number == 1
    assert message == Message(a.me, "t", 1, 1, {"x": 1})
    await close_topics(a, b)


@bus_cluster()
async def test_members_know_each_other_with_address_and_meta(client, scheduler, *buses):
    a = await in_thread(buses[0].topic, "t", meta={"rank": 0})
    b = await in_thread(buses[1].topic, "t", meta={"rank": 1})
    assert a.members() == {b.me: Member(buses[1]._worker.address, {"rank": 1})}
    assert b.members() == {a.me: Member(buses[0]._worker.address, {"rank": 0})}
    assert await take(a, Joined) == [
        Joined(b.me, buses[1]._worker.address, {"rank": 1})
    ]
    await close_topics(a, b)


@bus_cluster()
async def test_array_is_what_it_was_when_published(client, scheduler, *buses):
    """publish copies: what the caller does to the array afterwards is not sent."""
    a, b = await open_topics(buses)
    x = np.zeros(100_000)
    for i in range(5):
        x[:] = i
        await in_thread(a.publish, x)
    x[:] = -1
    messages = await take(b, Message, 5)
    assert [message.data.sum() for message in messages] == [i * 1e5 for i in range(5)]
    await close_topics(a, b)


@bus_cluster()
async def test_receiver_may_write_to_its_arrays(client, scheduler, *buses):
    a, b = await open_topics(buses)
    await in_thread(a.publish, [np.ones(10), np.ones(100_000)])
    [message] = await take(b, Message)
    for array in message.data:
        array += 1
    assert [array[0] for array in message.data] == [2, 2]
    await close_topics(a, b)


@bus_cluster(3)
async def test_end_gives_the_others_a_clean_left_after_the_last_message(
    client, scheduler, *buses
):
    a, b, c = topics = await open_topics(buses)
    for i in range(100):
        await in_thread(a.publish, i)
    await in_thread(a.end)
    for topic in (b, c):
        events = []
        while Left(a.me, clean=True) not in events:
            events.append(await in_thread(topic.get, 10))
        numbers = [event.last for event in events if isinstance(event, Message)]
        assert numbers == list(range(1, 101))
    await close_topics(*topics)


@bus_cluster()
async def test_finished_when_all_others_ended_and_all_was_taken(
    client, scheduler, *buses
):
    a, b = await open_topics(buses)
    assert not b.finished()
    await in_thread(a.publish, 1)
    await in_thread(a.end)
    while len(b._state.inbox) < 3:  # Joined, the message, Left
        await asyncio.sleep(0.001)
    assert not b.finished()
    b.drain()
    assert b.finished()
    await close_topics(a, b)


@bus_cluster()
async def test_error_in_a_with_body_is_an_unclean_left_for_the_others(
    client, scheduler, *buses
):
    b = await in_thread(buses[1].topic, "t")

    def fail():
        with buses[0].topic("t"):
            raise KeyError("body")

    with pytest.raises(KeyError, match="body"):
        await in_thread(fail)
    [left] = await take(b, Left)
    assert not left.clean
    await close_topics(b)


@bus_cluster()
async def test_second_open_on_a_worker_is_refused(client, scheduler, *buses):
    a = await in_thread(buses[0].topic, "t")
    with pytest.raises(ClusterError, match="open once on a worker"):
        await in_thread(buses[0].topic, "t")
    await close_topics(a)


@bus_cluster()
async def test_reopened_topic_is_a_new_member_and_works(client, scheduler, *buses):
    a, b = await open_topics(buses)
    await in_thread(a.publish, "old")
    await take(b, Message)
    await close_topics(a)
    again = await in_thread(buses[0].topic, "t")
    assert again.me != a.me
    await in_thread(again.publish, "new")
    [message] = await take(b, Message)
    assert (message.data, message.first) == ("new", 1)
    await close_topics(again, b)


@bus_cluster()
async def test_late_joiner_gets_all_that_is_published_after_it_joined(
    client, scheduler, *buses
):
    a = await in_thread(buses[0].topic, "t")
    await in_thread(a.publish, "missed")
    b = await in_thread(buses[1].topic, "t")
    await in_thread(a.publish, "seen")
    [message] = await take(b, Message)
    assert (message.data, message.first) == ("seen", 2)
    await close_topics(a, b)


@bus_cluster()
async def test_late_joiner_learns_that_a_member_had_ended(client, scheduler, *buses):
    a = await in_thread(buses[0].topic, "t")
    await in_thread(a.end)
    b = await in_thread(buses[1].topic, "t")
    assert await take(b, Left) == [Left(a.me, clean=True)]
    await close_topics(a, b)


@bus_cluster()
async def test_two_topics_do_not_hold_each_other_up(client, scheduler, *buses):
    """A full inbox of one topic leaves the other's messages alone."""
    stuck = await open_topics(buses, "stuck", inbox_bytes=1, max_queue=1)
    free = await open_topics(buses, "free")
    big = np.zeros(400_000)
    with pytest.raises(StepTimeoutError, match="not keeping up"):
        await publish_until_it_fails(stuck[0], big, timeout_s=0.2)
    for i in range(50):
        await in_thread(free[0].publish, i)
    messages = await take(free[1], Message, 50)
    assert [message.data for message in messages] == list(range(50))
    await close_topics(*stuck, *free)


@bus_cluster()
async def test_broken_connections_lose_nothing_and_repeat_nothing(
    client, scheduler, *buses
):
    # A small inbox, so that the publisher is not done before anything breaks.
    a, b = await open_topics(buses, inbox_bytes=100_000)
    x = np.zeros(5000)
    got, broken = [], 0

    def publish():
        for i in range(600):
            x[:] = i
            a.publish(x)
        a.end()

    publishing = asyncio.create_task(asyncio.to_thread(publish))
    while not publishing.done() or not b.finished():
        event = await in_thread(b.get, 0.2)
        if isinstance(event, Message):
            got.append((event.first, event.last, event.data[0]))
            if len(got) % 20 == 0:
                broken += break_connections(b)
    await publishing
    assert broken > 5
    assert got == [(i + 1, i + 1, i) for i in range(600)]
    assert a.stats.reconnects > 0
    await close_topics(a, b)


@bus_cluster()
async def test_two_workers_that_publish_and_take_with_tiny_buffers_go_on(
    client, scheduler, *buses
):
    """Without on_block each would wait for the other to empty its inbox."""
    options = {"inbox_bytes": 1000, "max_queue": 1, "max_queue_bytes": 1}
    topics = await open_topics(buses, **options)

    def exchange(topic):
        got = []

        def drain():
            got.extend(e.data[0] for e in topic.drain() if isinstance(e, Message))

        for i in range(60):
            topic.publish(np.full(400_000, i), on_block=drain)
        topic.end()
        while not topic.finished():
            event = topic.get(0.5)
            if isinstance(event, Message):
                got.append(event.data[0])
        return got

    both = await asyncio.gather(*(in_thread(exchange, topic) for topic in topics))
    assert both == [list(range(60))] * 2
    await close_topics(*topics)


@bus_cluster()
async def test_abort_wakes_a_waiting_get(client, scheduler, *buses):
    a, b = await open_topics(buses)
    b.drain()
    waiting = asyncio.create_task(in_thread(b.get, 30))
    await asyncio.sleep(0)
    b.abort()
    with pytest.raises(BusClosedError, match="must be open"):
        await waiting
    assert await close_topics(b) == [False]
    await close_topics(a)


@bus_cluster()
async def test_abort_wakes_a_waiting_publish(client, scheduler, *buses):
    a, b = await open_topics(buses, inbox_bytes=1, max_queue=1)

    def publish_for_ever():
        while True:
            a.publish(np.zeros(400_000), timeout_s=30)

    waiting = asyncio.create_task(in_thread(publish_for_ever))
    while a.stats.messages_sent < 3:
        await asyncio.sleep(0.001)
    a.abort()
    with pytest.raises(BusClosedError, match="must be open"):
        await waiting
    [left] = await take(b, Left)
    assert not left.clean
    await close_topics(a, b)


@bus_cluster()
async def test_closing_worker_wakes_its_waiting_threads(client, scheduler, *buses):
    a, b = await open_topics(buses)
    b.drain()
    waiting = asyncio.create_task(in_thread(b.get, 30))
    await asyncio.sleep(0)
    await buses[1]._worker.close()
    with pytest.raises(BusClosedError, match="must be open"):
        await waiting
    [left] = await take(a, Left)
    assert not left.clean
    await close_topics(a)


@bus_cluster()
async def test_publish_after_end_is_refused(client, scheduler, *buses):
    a = await in_thread(buses[0].topic, "t")
    await in_thread(a.end)
    with pytest.raises(BusClosedError, match=r"publish must come before end\(\)"):
        await in_thread(a.publish, 1)
    await close_topics(a)


@bus_cluster()
async def test_close_is_idempotent_and_says_that_all_was_delivered(
    client, scheduler, *buses
):
    a, b = await open_topics(buses)
    await in_thread(a.publish, np.zeros(100_000))
    assert await close_topics(a) == [True]
    assert await close_topics(a) == [True]
    await close_topics(b)


@bus_cluster()
async def test_use_on_the_event_loop_is_refused(client, scheduler, *buses):
    with pytest.raises(ClusterError, match=r"asyncio\.to_thread"):
        buses[0].topic("t")


@bus_cluster()
async def test_bad_options_are_refused(client, scheduler, *buses):
    for options, message in [
        ({"max_queue": 0}, "max_queue must be >= 1"),
        ({"when_full": "wait"}, "when_full must be one of"),
        ({"meta": {"x": object()}}, "meta must be what JSON can hold"),
    ]:
        with pytest.raises(OptionError, match=message):
            await in_thread(buses[0].topic, "t", **options)
    with pytest.raises(OptionError, match="name must be a text"):
        await in_thread(buses[0].topic, "")


@bus_cluster()
async def test_object_that_cannot_be_pickled_is_refused_where_it_is_published(
    client, scheduler, *buses
):
    a, b = await open_topics(buses)
    with pytest.raises(TypeError, match="pickle"):
        await in_thread(a.publish, (i for i in range(3)))
    await in_thread(a.publish, "next")
    [message] = await take(b, Message)
    assert message.first == 1
    await close_topics(a, b)


@bus_cluster()
async def test_task_finds_the_bus_of_its_worker(client, scheduler, *buses):
    def name():
        with get_bus().topic("t") as topic:
            return topic.name

    assert await client.submit(name, pure=False) == "t"


@gen_cluster(client=True, nthreads=[("", 1)])
async def test_task_on_a_worker_that_has_just_come_waits_for_its_bus(
    client, scheduler, worker
):
    task = client.submit(lambda: type(get_bus()).__name__, pure=False)
    await async_poll_for(lambda: worker.state.executing, timeout=20)
    await install(client)
    assert await task == "BusWorkerPlugin"


@gen_cluster(client=True, nthreads=[("", 1)])
async def test_task_on_a_worker_without_the_bus_says_what_to_call(
    client, scheduler, worker
):
    before, this_worker.NEWCOMER_TIMEOUT_S = this_worker.NEWCOMER_TIMEOUT_S, 0.1
    try:
        with pytest.raises(ClusterError, match=r"must be installed.*install\(client"):
            await client.submit(get_bus, pure=False)
    finally:
        this_worker.NEWCOMER_TIMEOUT_S = before


def test_outside_a_task_there_is_no_bus():
    with pytest.raises(ClusterError, match="must be used in a task"):
        get_bus()
