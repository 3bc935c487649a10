"""Putting the bus on a cluster."""

import pytest
from distributed.utils_test import gen_cluster

from daskdl.cluster.bus import get_bus, install
from daskdl.cluster.bus.protocol import PLUGIN_NAME
from daskdl.errors import ClusterError
from tests.unit.bus.clusters import bus_cluster, close_topics, in_thread


@bus_cluster()
async def test_second_install_keeps_open_topics(client, scheduler, *buses):
    a = await in_thread(buses[0].topic, "t")
    await install(client)
    b = await in_thread(buses[1].topic, "t")
    assert buses[0]._worker.plugins[PLUGIN_NAME] is buses[0]
    assert set(b.members()) == {a.me}
    await close_topics(a, b)


@gen_cluster(client=True, nthreads=[("", 1)])
async def test_without_install_a_task_is_told_what_to_do(client, scheduler, worker):
    with pytest.raises(ClusterError, match=r"install\(client\) first"):
        await client.submit(get_bus, pure=False)


@gen_cluster(client=True, nthreads=[("", 1)])
async def test_other_version_is_refused_before_anything_is_registered(
    client, scheduler, worker
):
    async def run(function):
        return {worker.address: "0.0.1 (daskdl-bus-1)"}

    client.run = run
    with pytest.raises(ClusterError, match=r"must be importable everywhere.*0\.0\.1"):
        await install(client)
    assert PLUGIN_NAME not in scheduler.plugins


@gen_cluster(client=True, nthreads=[("", 1)])
async def test_missing_package_is_refused_before_anything_is_registered(
    client, scheduler, worker
):
    async def run_on_scheduler(function):
        return "not importable: No module named 'daskdl'"

    client.run_on_scheduler = run_on_scheduler
    with pytest.raises(ClusterError, match="scheduler: not importable"):
        await install(client)
    assert PLUGIN_NAME not in worker.plugins
