"""Errors stay where they happen, and what was missed is asked for."""

import asyncio
import sys
from unittest import mock

import numpy as np
import pytest
from distributed.core import rpc
from distributed.diagnostics.plugin import WorkerPlugin
from distributed.utils_test import async_poll_for

from daskdl.cluster.bus import Left, Message, peers, scheduler_plugin, uninstall
from daskdl.cluster.bus.holders import Holder
from daskdl.cluster.bus.protocol import JOIN_OP, LEAVE_OP, LINK_OP, PLUGIN_NAME, VIEW_OP
from daskdl.cluster.bus.registry import Entry
from daskdl.cluster.bus.switch_interval import OPEN_TOPIC_INTERVAL_S
from daskdl.errors import BusClosedError, ClusterError, DataError
from tests.unit.bus.clusters import (
    bus_cluster,
    close_topics,
    in_thread,
    open_topics,
    publish_until_it_fails,
    take,
)


class Unloadable:
    """Pickles, but raises when it is unpickled."""

    def __reduce__(self):
        return int, ("no number",)


async def join_unheard(bus, *, deaf):
    """Open the topic while the news of it do not reach the worker of `deaf`."""
    with (
        mock.patch.object(scheduler_plugin, "JOIN_TIMEOUT_S", 0.01),
        mock.patch.object(scheduler_plugin, "TELL_AGAIN_S", ()),
        mock.patch.dict(deaf._worker.handlers),
    ):
        del deaf._worker.handlers[VIEW_OP]
        return await in_thread(bus.topic, "t")


@bus_cluster()
async def test_garbage_to_a_worker_hurts_only_its_connection(client, scheduler, *buses):
    a, b = await open_topics(buses)
    for operation in (VIEW_OP, LINK_OP):
        async with rpc(buses[1]._worker.address) as peer:
            with pytest.raises(TypeError, match="unexpected keyword"):
                await getattr(peer, operation)(nonsense=1)
    await in_thread(a.publish, "still here")
    [message] = await take(b, Message)
    assert message.data == "still here"
    assert len(scheduler.workers) == 2
    await close_topics(a, b)


@bus_cluster()
async def test_garbage_to_the_scheduler_hurts_only_its_connection(
    client, scheduler, *buses
):
    async with rpc(scheduler.address) as peer:
        with pytest.raises(TypeError, match="unexpected keyword"):
            await getattr(peer, JOIN_OP)(nonsense=1)
    assert await client.submit(sum, [1, 2], pure=False) == 3
    assert len(scheduler.workers) == 2


@bus_cluster()
async def test_unknown_operation_is_answered_with_nothing(client, scheduler, *buses):
    async with rpc(buses[0]._worker.address) as peer:
        assert await peer.daskdl_bus_0_link(source="x", target="y") is None
    assert len(scheduler.workers) == 2


@bus_cluster()
async def test_garbage_on_a_link_is_not_delivered_and_the_link_recovers(
    client, scheduler, *buses
):
    a, b = await open_topics(buses)
    await in_thread(a.publish, 1)
    await take(b, Message)
    outgoing = a._peers._peers[b.me].outgoing
    packed = outgoing._outbox.next_batch

    def garbage_once():
        outgoing._outbox.next_batch = packed
        return [(99, None)]

    outgoing._outbox.next_batch = garbage_once
    await in_thread(a.publish, 2)
    [message] = await take(b, Message)
    assert message.data == 2
    await close_topics(a, b)


@bus_cluster()
async def test_message_that_cannot_be_unpickled_hurts_only_its_get(
    client, scheduler, *buses
):
    a, b = await open_topics(buses)
    await in_thread(a.publish, Unloadable())
    await in_thread(a.publish, "next")
    with pytest.raises(DataError, match=f"message 1 of member {a.me} cannot"):
        await take(b, Message)
    [message] = await take(b, Message)
    assert message.data == "next"
    await close_topics(a, b)


@bus_cluster(3)
async def test_member_whose_worker_is_lost_is_left_by_all(client, scheduler, *buses):
    a, b, c = await open_topics(buses)
    for i in range(100):
        await in_thread(c.publish, i)
    await scheduler.remove_worker(buses[2]._worker.address, stimulus_id="test")
    for topic in (a, b):
        events = []
        while not any(isinstance(event, Left) for event in events):
            events.append(await in_thread(topic.get, 10))
        lasts = [event.last for event in events if isinstance(event, Message)]
        assert events[-1] == Left(c.me, clean=False)
        assert lasts == list(range(1, len(lasts) + 1))
        assert c.me not in topic.members()
        assert topic.drain() == []
    c.abort()
    await close_topics(a, b, c)


@bus_cluster()
async def test_member_that_the_scheduler_missed_is_removed_by_who_asks_for_it(
    client, scheduler, *buses
):
    """A leave that got lost must not leave a member that nobody can reach."""
    a = await in_thread(buses[0].topic, "t")
    registry = scheduler.plugins[PLUGIN_NAME]
    ghost = Entry(buses[1]._worker.address, "{}", True)
    await registry._join("t", "ghost", ghost.address, ghost.meta, ghost.receives)
    await in_thread(a.publish, 1)
    assert await take(a, Left) == [Left("ghost", clean=False)]
    assert a.members() == {}
    await close_topics(a)


@bus_cluster()
async def test_news_that_did_not_arrive_is_asked_for(client, scheduler, *buses):
    """The first link of an unknown member makes a worker ask the scheduler."""
    b = await in_thread(buses[1].topic, "t")
    a = await join_unheard(buses[0], deaf=buses[1])
    assert b.members() == {}
    await in_thread(a.publish, "heard")
    [message] = await take(b, Message)
    assert message.source == a.me
    assert set(b.members()) == {a.me}
    await close_topics(a, b)


@bus_cluster()
async def test_member_that_comes_while_another_closes_sees_a_clean_left(
    client, scheduler, *buses
):
    a = await in_thread(buses[0].topic, "t")
    # a does not hear of b, and would leave without a last word.
    b = await join_unheard(buses[1], deaf=buses[0])
    await close_topics(a)
    assert await take(b, Left) == [Left(a.me, clean=True)]
    await close_topics(b)


@bus_cluster()
async def test_worker_with_a_topic_is_not_scaled_down(client, scheduler, *buses):
    a = await in_thread(buses[0].topic, "t")
    closing = scheduler.workers_to_close(n=2)
    assert closing == [buses[1]._worker.address]
    await close_topics(a)


@bus_cluster()
async def test_switch_interval_is_short_while_topics_are_open(
    client, scheduler, *buses
):
    before = sys.getswitchinterval()
    a, b = await open_topics(buses)
    assert sys.getswitchinterval() == pytest.approx(OPEN_TOPIC_INTERVAL_S)
    await close_topics(a)
    assert sys.getswitchinterval() == pytest.approx(OPEN_TOPIC_INTERVAL_S)
    await close_topics(b)
    assert sys.getswitchinterval() == pytest.approx(before)


@bus_cluster()
async def test_counters_count_what_was_sent_and_received(client, scheduler, *buses):
    a, b = await open_topics(buses)
    for _ in range(10):
        await in_thread(a.publish, np.zeros(1000))
    await take(b, Message, 10)
    await close_topics(a, b)
    sent, received = a.stats, b.stats
    assert (sent.messages_sent, received.messages_received) == (10, 10)
    assert sent.bytes_sent == received.bytes_received > 80_000


@bus_cluster()
async def test_topic_closes_without_an_answer_of_the_scheduler(
    client, scheduler, *buses
):
    a = await in_thread(buses[0].topic, "t")
    plugin = scheduler.plugins[PLUGIN_NAME]

    async def fail(**arguments):
        raise OSError("lost")

    scheduler.handlers[LEAVE_OP] = fail
    assert await close_topics(a) == [False]
    scheduler.handlers[LEAVE_OP] = plugin._leave
    await plugin._leave("t", a.me)


@bus_cluster()
async def test_member_that_the_scheduler_gave_up_is_told_when_it_asks(
    client, scheduler, *buses
):
    """A worker that was thought to be lost must not go on as if it were a member."""
    a, b = await open_topics(buses)
    registry = scheduler.plugins[PLUGIN_NAME]._registry
    registry.leave("t", a.me)
    a.drain()
    waiting = asyncio.create_task(in_thread(a.get, 30))
    opened = buses[0]._open[a.me]
    await opened.peers.refresh()
    with pytest.raises(BusClosedError, match="must be open"):
        await waiting
    await close_topics(a, b)


@bus_cluster()
async def test_stranger_cannot_open_a_link(client, scheduler, *buses):
    a = await in_thread(buses[0].topic, "t")
    async with rpc(buses[0]._worker.address) as peer:
        answer = await getattr(peer, LINK_OP)(source="stranger", target=a.me)
    assert answer == {"ok": False, "reason": "not a member"}
    await close_topics(a)


@bus_cluster()
async def test_worker_that_the_scheduler_does_not_know_cannot_join(
    client, scheduler, *buses
):
    with mock.patch.object(scheduler.plugins[PLUGIN_NAME], "_scheduler") as empty:
        empty.workers = {}
        with pytest.raises(ClusterError, match="is not a worker"):
            await in_thread(buses[0].topic, "t")


@bus_cluster()
async def test_join_without_the_bus_on_the_scheduler_says_what_to_do(
    client, scheduler, *buses
):
    with mock.patch.dict(scheduler.handlers):
        del scheduler.handlers[JOIN_OP]
        with pytest.raises(ClusterError, match=r"install\(client\) first"):
            await in_thread(buses[0].topic, "t")


@bus_cluster()
async def test_worker_that_was_busy_is_told_again(client, scheduler, *buses):
    a = await in_thread(buses[0].topic, "t")
    take_view = buses[0]._worker.handlers[VIEW_OP]

    async def fail_once(view):
        buses[0]._worker.handlers[VIEW_OP] = take_view
        raise RuntimeError("busy")

    buses[0]._worker.handlers[VIEW_OP] = fail_once
    b = await in_thread(buses[1].topic, "t")
    assert set(a.members()) == {b.me}
    await close_topics(a, b)


@bus_cluster()
async def test_uninstalled_worker_closes_its_topics(client, scheduler, *buses):
    a, b = await open_topics(buses)
    await uninstall(client)
    with pytest.raises(BusClosedError, match="must be open"):
        await in_thread(a.get, 1)
    with pytest.raises(BusClosedError, match="must be running"):
        await in_thread(buses[0].topic, "t")
    assert await close_topics(a, b) == [False, False]


@bus_cluster()
async def test_a_member_that_is_evicted_is_forgotten_and_finds_out(
    client, scheduler, *buses
):
    """For instance one that was stopped, and wakes up again."""
    a, b = await open_topics(buses)
    await client.run_on_scheduler(scheduler_plugin.evict, "t", buses[1]._worker.address)
    (left,) = await take(a, Left)
    assert (left.member, left.clean) == (b.me, False)
    with pytest.raises(BusClosedError):
        await publish_until_it_fails(b, 1, timeout_s=10)
    await close_topics(a, b)


@bus_cluster()
async def test_a_member_that_was_stopped_asks_whether_it_still_counts(
    client, scheduler, *buses
):
    """It publishes nothing, and nobody tells it."""
    a, b = await open_topics(buses)
    await client.run_on_scheduler(scheduler_plugin.evict, "t", buses[1]._worker.address)
    await take(a, Left)
    b.check_open()
    with mock.patch.object(peers, "STOPPED_S", 0.0):
        await async_poll_for(lambda: b._state.is_closed, timeout=20)
    a.check_open()
    await close_topics(a, b)


@bus_cluster()
async def test_a_member_that_was_stopped_asks_where_all_have_left(
    client, scheduler, *buses
):
    (b,) = await open_topics(buses[1:2])
    # What a scheduler without the bus answers to all of its operations.
    scheduler.handlers.pop(VIEW_OP)
    with mock.patch.object(peers, "STOPPED_S", 0.0):
        await async_poll_for(lambda: b._state.is_closed, timeout=20)
    await close_topics(b)


class Ending(WorkerPlugin):
    """A plugin of a worker that hears of the end of its holders."""

    name = "ending"
    ended: list[str]

    def setup(self, worker):
        self.ended = []

    def end(self, holder):
        self.ended.append(holder)


@bus_cluster()
async def test_the_end_of_a_client_is_told_to_the_workers_and_its_events_are_dropped(
    client, scheduler, *buses
):
    worker = buses[0]._worker
    await worker.plugin_add(Ending())
    plugin = scheduler.plugins[PLUGIN_NAME]
    pickled = {"ending": b""}
    await plugin.hold("fit", Holder("another client", "events"), pickled)
    scheduler.log_event("events", 1)
    plugin.remove_client(scheduler, "another client")
    deadline = asyncio.get_running_loop().time() + 10
    while worker.plugins["ending"].ended != ["fit"]:
        assert asyncio.get_running_loop().time() < deadline
        await asyncio.sleep(0.01)
    assert scheduler.get_events("events") == ()
