"""Dask looks after its servers less often while a topic is open."""

import asyncio
from collections import deque
from types import SimpleNamespace

import pytest

from daskdl.cluster.bus.holders import Holder
from daskdl.cluster.bus.housekeeping import HISTORIES, KEPT, LEAST_MS, Housekeeping
from daskdl.cluster.bus.scheduler_plugin import BusSchedulerPlugin
from tests.unit.bus.clusters import bus_cluster, close_topics, open_topics


def server_with(**every_ms):
    callbacks = {
        name.replace("_", "-"): SimpleNamespace(callback_time=each)
        for name, each in every_ms.items()
    }
    return SimpleNamespace(periodic_callbacks=callbacks, handlers={})


@bus_cluster()
async def test_a_worker_is_held_until_its_last_topic_closes(client, scheduler, *buses):
    # Clusters of tests are not profiled.
    worker = server_with(profile=10.0)
    callback = worker.periodic_callbacks["profile"]
    buses[0]._housekeeping = Housekeeping(worker)
    one = await open_topics(buses, "one")
    two = await open_topics(buses, "two")
    assert callback.callback_time == LEAST_MS["profile"]
    await close_topics(*one)
    assert callback.callback_time == LEAST_MS["profile"]
    await close_topics(*two)
    assert callback.callback_time == 10.0


def test_a_scheduler_is_held_until_its_last_user_has_gone():
    scheduler = server_with(tick=20.0)
    callback = scheduler.periodic_callbacks["tick"]
    plugin = BusSchedulerPlugin()

    async def begin():
        await plugin.start(scheduler)
        for name in ("one", "two", "two"):
            await plugin.hold(name, Holder("client", None), {})

    asyncio.run(begin())
    assert callback.callback_time == LEAST_MS["tick"]
    plugin.release("one")
    plugin.release("one")
    assert callback.callback_time == LEAST_MS["tick"]
    # Else it would go and tell workers of it.
    plugin._is_closed = True
    plugin.release("two")
    assert callback.callback_time == 20.0


def test_who_looks_seldom_goes_on_so():
    worker = server_with(profile=5000.0)
    Housekeeping(worker).hold()
    assert worker.periodic_callbacks["profile"].callback_time == 5000.0


def test_a_server_that_does_nothing_by_itself_has_nothing_to_hold():
    housekeeping = Housekeeping(server_with())
    housekeeping.hold()
    housekeeping.release()


@pytest.mark.parametrize(
    ("name", "every_ms"), [("profile_cycle", 1000.0), ("tick", 20.0)]
)
def test_what_costs_time_or_memory_is_done_less_often(name, every_ms):
    worker = server_with(**{name: every_ms})
    (callback,) = worker.periodic_callbacks.values()
    housekeeping = Housekeeping(worker)
    housekeeping.hold()
    assert callback.callback_time == LEAST_MS[name.replace("_", "-")]
    housekeeping.release()
    assert callback.callback_time == every_ms


@pytest.mark.parametrize("before", [3600, None])
@pytest.mark.parametrize("name", HISTORIES)
def test_of_a_profile_the_last_minutes_are_kept(name, before):
    worker = server_with()
    setattr(worker, name, deque(range(100), maxlen=before))
    housekeeping = Housekeeping(worker)
    housekeeping.hold()
    getattr(worker, name).append(100)
    assert list(getattr(worker, name)) == list(range(101 - KEPT, 101))
    housekeeping.release()
    assert getattr(worker, name).maxlen == before
    assert list(getattr(worker, name)) == list(range(101 - KEPT, 101))
