"""Putting the bus on a cluster."""

import asyncio

import pytest
from distributed import Worker
from distributed.diagnostics.plugin import WorkerPlugin
from distributed.utils_test import gen_cluster

from daskdl.cluster.bus import get_bus, install
from daskdl.cluster.bus.protocol import PLUGIN_NAME
from daskdl.errors import ClusterError
from tests.unit.bus.clusters import bus_cluster, close_topics, in_thread


class Broken(WorkerPlugin):
    name = "broken"

    def setup(self, worker):
        raise RuntimeError("no room")


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
    async def run(function, *, workers, on_error):
        return {worker.address: "0.0.7 (daskdl-bus-1)"}

    client.run = run
    with pytest.raises(ClusterError, match=r"must be importable everywhere.*0\.0\.7"):
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


@gen_cluster(client=True, nthreads=[("", 1)] * 2)
async def test_a_worker_that_does_not_answer_is_left_out(client, scheduler, a, b):
    async def never(function, *args, workers, on_error):
        if workers == [b.address]:
            await asyncio.sleep(3600)
        return await real(function, *args, workers=workers, on_error=on_error)

    real = client.run
    client.run = never
    assert await install(client, timeout_s=1.0) == {a.address}
    assert PLUGIN_NAME not in b.plugins


@gen_cluster(client=True, nthreads=[("", 1)])
async def test_a_plugin_that_cannot_start_is_named(client, scheduler, worker):
    with pytest.raises(ClusterError, match=r"must start the plugins .*RuntimeError"):
        await install(client, plugins=[Broken()])


@gen_cluster(client=True, nthreads=[("", 1)])
async def test_workers_to_come_have_the_bus(client, scheduler, worker):
    await install(client)
    async with Worker(scheduler.address) as late:
        assert PLUGIN_NAME in late.plugins
