"""Dask's profile of a worker looks less often while a topic is open."""

from types import SimpleNamespace

from daskdl.cluster.bus.statistical_profile import (
    OPEN_TOPIC_EVERY_MS,
    PUT_BY_EVERY_MS,
    StatisticalProfile,
)
from tests.unit.bus.clusters import bus_cluster, close_topics, open_topics


@bus_cluster()
async def test_the_profile_is_held_back_until_the_last_topic_closes(
    client, scheduler, *buses
):
    # Clusters of tests are not profiled.
    callback = SimpleNamespace(callback_time=10.0)
    worker = SimpleNamespace(periodic_callbacks={"profile": callback})
    buses[0]._profile = StatisticalProfile(worker)
    one = await open_topics(buses, "one")
    two = await open_topics(buses, "two")
    assert callback.callback_time == OPEN_TOPIC_EVERY_MS
    await close_topics(*one)
    assert callback.callback_time == OPEN_TOPIC_EVERY_MS
    await close_topics(*two)
    assert callback.callback_time == 10.0


def test_a_profile_that_looks_seldom_stays_as_it_is():
    callback = SimpleNamespace(callback_time=5000.0)
    profile = StatisticalProfile(
        SimpleNamespace(periodic_callbacks={"profile": callback})
    )
    profile.hold()
    assert callback.callback_time == 5000.0


def test_a_worker_without_a_profile_has_nothing_to_hold():
    profile = StatisticalProfile(SimpleNamespace(periodic_callbacks={}))
    profile.hold()
    profile.release()


def test_what_was_seen_is_put_by_less_often():
    """Else the memory of a worker grows by as much every second, for an hour."""
    callback = SimpleNamespace(callback_time=1000.0)
    profile = StatisticalProfile(
        SimpleNamespace(periodic_callbacks={"profile-cycle": callback})
    )
    profile.hold()
    assert callback.callback_time == PUT_BY_EVERY_MS
    profile.release()
    assert callback.callback_time == 1000.0
