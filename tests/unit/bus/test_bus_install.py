"""Putting the bus on a cluster."""

import asyncio
import platform
from types import MethodType

import pytest
from distributed import Client, Worker
from distributed.comm import CommClosedError
from distributed.diagnostics.plugin import WorkerPlugin
from distributed.utils_test import async_poll_for, captured_logger, gen_cluster

from daskdl.cluster.bus import get_bus, install, scheduler_plugin, uninstall
from daskdl.cluster.bus.plugin_lifecycle import stop_plugins
from daskdl.cluster.bus.protocol import PLUGIN_NAME
from daskdl.cluster.silent_workers import heartbeats
from daskdl.errors import BusClosedError, ClusterError
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
    async def run(function, *args, workers, on_error):
        if function is platform.python_version:
            return await real(function, workers=workers)
        return {worker.address: "0.0.7 (daskdl-bus-1)"}

    real, client.run = client.run, run
    with pytest.raises(ClusterError, match=r"must have the Python.*daskdl 0\.0\.7"):
        await install(client)
    assert PLUGIN_NAME not in scheduler.plugins


@gen_cluster(client=True, nthreads=[("", 1)])
async def test_missing_package_is_refused_before_anything_is_registered(
    client, scheduler, worker
):
    async def run_on_scheduler(function):
        if function in (platform.python_version, heartbeats):
            return await real(function)
        return "not importable: No module named 'daskdl'"

    real, client.run_on_scheduler = client.run_on_scheduler, run_on_scheduler
    with pytest.raises(ClusterError, match="scheduler: daskdl not importable"):
        await install(client)
    assert PLUGIN_NAME not in worker.plugins


@gen_cluster(client=True, nthreads=[("", 1)])
async def test_no_code_is_sent_to_another_python(client, scheduler, worker):
    """What it would do there is anybody's guess."""

    async def run(function, *args, workers, on_error):
        assert function is platform.python_version
        return {worker.address: "3.9.18"}

    client.run = run
    wanted = rf"worker {worker.address}: Python 3\.9\.18, here 3\.1"
    with pytest.raises(ClusterError, match=wanted):
        await install(client)


@gen_cluster(client=True, nthreads=[("", 1)])
async def test_no_code_is_sent_to_a_newcomer_with_another_python(
    client, scheduler, worker
):
    def ask(self, address, function, *args):
        assert function is platform.python_version
        return completed("3.9.18")

    await install(client)
    plugin = scheduler.plugins[PLUGIN_NAME]
    plugin._ask = MethodType(ask, plugin)
    async with Worker(scheduler.address) as late:
        await async_poll_for(lambda: plugin.newcomers, timeout=20)
        assert plugin.newcomers[late.address].startswith("Python 3.9.18, here 3.1")
    del plugin._ask


@gen_cluster(client=True, nthreads=[("", 1)])
async def test_a_newcomer_whose_connection_breaks_is_asked_again(
    client, scheduler, worker
):
    async def break_once(self, address, function, *args):
        self._ask = real
        raise CommClosedError("closed")

    await install(client)
    plugin = scheduler.plugins[PLUGIN_NAME]
    real = plugin._ask
    plugin._ask = MethodType(break_once, plugin)
    async with Worker(scheduler.address) as late:
        await async_poll_for(lambda: plugin.newcomers, timeout=20)
        assert plugin.newcomers[late.address] is None


@gen_cluster(client=True, nthreads=[("", 1)])
async def test_a_newcomer_that_is_killed_at_once_is_not_called_unable(
    client, scheduler, worker
):
    async def broken(self, address, function, *args):
        asked.append(address)
        raise CommClosedError("closed")

    asked = []
    await install(client)
    plugin = scheduler.plugins[PLUGIN_NAME]
    plugin._ask = MethodType(broken, plugin)
    with captured_logger(scheduler_plugin.logger) as log:
        async with Worker(scheduler.address) as late:
            await async_poll_for(lambda: asked, timeout=20)
        await async_poll_for(lambda: not plugin._tasks, timeout=20)
    assert log.getvalue() == ""
    assert late.address not in plugin.newcomers
    del plugin._ask


async def completed(result):
    return result


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
        await async_poll_for(lambda: PLUGIN_NAME in late.plugins, timeout=20)


@gen_cluster(client=True, nthreads=[("", 1)] * 2)
async def test_the_last_one_takes_it_off_the_cluster(client, scheduler, a, b):
    """Neither who comes later nor the users of the cluster meet anything of ours."""
    handlers = {server: set(server.handlers) for server in (scheduler, a, b)}
    await install(client, plugins=[Quiet()], holder="one")
    await install(client, plugins=[Quiet()], holder="two")
    await uninstall(client, holder="one")
    assert PLUGIN_NAME in a.plugins
    await uninstall(client, holder="two")
    assert ours_on(scheduler, a, b) == set()
    assert {server: set(server.handlers) for server in handlers} == handlers
    await install(client)
    assert ours_on(scheduler, a, b) == {PLUGIN_NAME}


@gen_cluster(client=True, nthreads=[("", 1)])
async def test_it_goes_with_the_client_that_needed_it(client, scheduler, worker):
    async with Client(scheduler.address, asynchronous=True) as another:
        await install(another)
        await install(client)
    await async_poll_for(lambda: another.id not in scheduler.clients, timeout=20)
    assert ours_on(scheduler, worker) == {PLUGIN_NAME}
    scheduler.remove_client(client.id)
    await async_poll_for(lambda: not ours_on(scheduler, worker), timeout=20)


@gen_cluster(client=True, nthreads=[("", 1)])
async def test_what_is_reported_after_the_end_is_dropped(client, scheduler, worker):
    """Whoever comes too late to be heard leaves no event, whoever else has the bus."""
    await install(client, holder="one", events="told")
    await install(client, holder="two")
    bus = worker.plugins[PLUGIN_NAME]
    assert await in_thread(bus.report, "told", {"what": "returned"})
    assert [event for _, event in scheduler.get_events("told")] == [
        {"what": "returned"}
    ]
    await uninstall(client, holder="one")
    assert not await in_thread(bus.report, "told", {"what": "returned"})
    await uninstall(client, holder="two")
    assert not await in_thread(bus.report, "told", {"what": "returned"})
    assert "told" not in scheduler.get_events()


@gen_cluster(client=True, nthreads=[("", 1)])
async def test_what_is_reported_to_a_busy_scheduler_comes_late(
    client, scheduler, worker
):
    await install(client, holder="one", events="told")
    bus = worker.plugins[PLUGIN_NAME]

    async def busy(*given):
        raise ClusterError("Bus: the scheduler must answer, it is busy.")

    bus._control.report = busy
    assert await in_thread(bus.report, "told", {"what": "returned"})
    await async_poll_for(lambda: scheduler.get_events("told"), timeout=20)


@bus_cluster()
async def test_who_still_waits_on_a_topic_is_woken(client, scheduler, *buses):
    topic = await in_thread(buses[0].topic, "t")
    waiting = asyncio.ensure_future(in_thread(topic.get, 30))
    await uninstall(client)
    with pytest.raises(BusClosedError):
        await waiting


@gen_cluster(client=True, nthreads=[("", 1)])
async def test_who_comes_as_it_leaves_has_it_again(client, scheduler, worker):
    await install(client, holder="one")
    await asyncio.gather(uninstall(client, holder="one"), install(client, holder="two"))
    assert ours_on(scheduler, worker) == {PLUGIN_NAME}


@gen_cluster(client=True, nthreads=[("", 1)])
async def test_a_worker_that_slept_through_the_end_starts_anew(
    client, scheduler, worker
):
    """What is left on it is replaced, and a late word of the end is not heeded."""
    await install(client)
    left, generation = worker.plugins[PLUGIN_NAME], "another"
    left.generation = generation
    await install(client)
    assert worker.plugins[PLUGIN_NAME] is not left
    await stop_plugins([PLUGIN_NAME], generation, worker)
    assert PLUGIN_NAME in worker.plugins


@gen_cluster(client=True, nthreads=[("", 1)])
async def test_a_worker_without_daskdl_joins_and_is_named(client, scheduler, worker):
    """It is asked once it is there, and what it cannot load is its own matter."""
    await install(client)
    plugin = scheduler.plugins[PLUGIN_NAME]
    plugin._pickled["unknown"] = b"cnowhere\nUnknown\n."
    with captured_logger(scheduler_plugin.logger) as log:
        async with Worker(scheduler.address) as late:
            await async_poll_for(lambda: "left out" in log.getvalue(), timeout=20)
            assert late.address in scheduler.workers
    assert late.address in log.getvalue()
    assert not [name for name in scheduler.worker_plugins if "daskdl" in name]


class Quiet(WorkerPlugin):
    name = "daskdl-quiet"


def ours_on(*servers):
    return {
        name
        for server in servers
        for name in server.plugins
        if name.startswith("daskdl")
    }
