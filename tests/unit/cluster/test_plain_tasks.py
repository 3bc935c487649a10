"""Tasks that Dask runs again, where Dask alone would wait or give up."""

import asyncio
import gc
import threading
import time
from functools import partial
from types import SimpleNamespace

import pytest
from distributed import CancelledError, KilledWorker, Worker, get_worker
from distributed.core import Status
from distributed.utils_test import async_poll_for, gen_cluster

from daskdl.cluster import placement, plain_tasks
from daskdl.cluster.bus.probing import Probed
from daskdl.cluster.full_memory import FullMemory
from daskdl.cluster.plain_tasks import run_tasks
from daskdl.cluster.silent_workers import Heartbeat
from daskdl.cluster.worker_changes import WorkerChanges
from daskdl.errors import ClusterError, WorkerLostError
from tests.unit.cluster.inline_client import InlineClient


class SyncClient:
    """The client of a test's event loop, for a thread that waits for it."""

    def __init__(self, client):
        self._client = client
        self._loop = asyncio.get_running_loop()
        self.id = client.id

    def sync(self, function, *args):
        args = [self._client if arg is self else arg for arg in args]
        return asyncio.run_coroutine_threadsafe(function(*args), self._loop).result()

    @property
    def status(self):
        return self._client.status

    @property
    def generation(self):
        return self._client.generation

    def __getattr__(self, name):
        def called(*args, **kwargs):
            async def on_loop():
                result = getattr(self._client, name)(*args, **kwargs)
                return await result if asyncio.iscoroutine(result) else result

            return self.sync(on_loop)

        return called


async def results_of(client, function, items, changes=None):
    """Run a task an item, from a thread as a user would."""
    from_thread = SyncClient(client)
    placed = []

    def submit(numbers, workers):
        placed.append((list(numbers), workers))
        given = [items[number] for number in numbers]
        return from_thread.map(function, given, pure=False, workers=workers)

    results = await asyncio.to_thread(
        run_tasks, from_thread, "digits", len(items), submit, changes=changes
    )
    return results, placed


@gen_cluster(client=True, nthreads=[("", 1)] * 2)
async def test_results_come_in_order(client, scheduler, a, b):
    results, placed = await results_of(client, abs, [-1, -2, -3])
    assert results == [1, 2, 3]
    assert placed == [([0, 1, 2], sorted([a.address, b.address]))]


def test_without_workers_tasks_are_not_waited_for_for_ever(monkeypatch, caplog):
    monkeypatch.setattr(plain_tasks, "NO_WORKER_TIMEOUT_S", 1.0)

    @gen_cluster(client=True, nthreads=[])
    async def check(client, scheduler):
        with pytest.raises(WorkerLostError, match="digits: at least one worker must"):
            await results_of(client, abs, [-1])

    check()
    assert "waiting for workers: 1 must be there, 0 are; " in caplog.text


@gen_cluster(client=True, nthreads=[("", 1)])
async def test_the_error_of_a_task_comes_out_as_it_is(client, scheduler, a):
    with pytest.raises(ValueError, match="invalid literal"):
        await results_of(client, int, ["1", "x"])


def test_a_task_that_kills_its_workers_is_told_in_our_words():
    def killed(results):
        raise KilledWorker("task", None, 3)

    with pytest.raises(WorkerLostError, match="digits: a task must not take its"):
        run_tasks(InlineClient(answer=killed), "digits", 0, lambda *args: [])


class AlwaysTooMany:
    """Deaths that are too many at the first look."""

    def __init__(self, n_workers):
        self._looks = 0

    def are_too_many(self, gone, ended):
        self._looks += 1
        return self._looks == 1


async def scanned_where_workers_die(client, monkeypatch, why):
    """Scan a compressed file; nannies tell why workers went."""
    monkeypatch.setattr(plain_tasks, "DeathsInARow", AlwaysTooMany)
    monkeypatch.setattr(plain_tasks, "told_by_nannies", lambda client: why)
    from_thread = SyncClient(client)
    part = SimpleNamespace(name="a.csv.gz", too_large="It is read as a whole.")

    def submit(numbers, workers):
        return from_thread.map(slow, numbers, pure=False, workers=workers)

    return await asyncio.to_thread(
        run_tasks, from_thread, "scan", 1, submit, scanned=[part]
    )


def slow(number):
    time.sleep(1)
    return number


def test_workers_that_die_of_their_memory_end_a_scan_with_the_file(monkeypatch):
    @gen_cluster(client=True, nthreads=[("", 1)])
    async def check(client, scheduler, a):
        with pytest.raises(WorkerLostError) as raised:
            await scanned_where_workers_die(client, monkeypatch, "Memory was full")
        assert str(raised.value) == (
            "scan: a task must not take its worker with it, that for a.csv.gz did "
            "again and again and was given up. Memory was full. Raise memory_limit (in "
            "a job cluster.memory_limit). It is read as a whole."
        )

    check()


def test_a_scan_goes_on_where_workers_die_of_something_else(monkeypatch):
    @gen_cluster(client=True, nthreads=[("", 1)])
    async def check(client, scheduler, a):
        assert await scanned_where_workers_die(client, monkeypatch, "") == [0]

    check()


# In the process of all workers of a test; tasks are sent to it by reference.
SILENT: set[str] = set()
GO = threading.Event()


def silence(dask_scheduler):
    return {
        address: Heartbeat(3600.0 if address in SILENT else 0.0, "running")
        for address in dask_scheduler.workers
    }


def stuck_where_silent(number):
    if get_worker().address in SILENT:
        GO.wait(30)
    return number


def failing_on_newcomers(number, at_start):
    if get_worker().address != at_start:
        GO.set()
        raise ModuleNotFoundError("No module named 'daskdl'")
    GO.wait(20)
    return number


@pytest.fixture
def go():
    GO.clear()
    yield GO
    GO.set()
    SILENT.clear()


@pytest.fixture
def told_by_the_test(monkeypatch, go):
    monkeypatch.setattr(plain_tasks, "heartbeats", silence)


@pytest.mark.usefixtures("told_by_the_test")
def test_tasks_of_a_silent_worker_run_elsewhere():
    """As on one that is stopped: the scheduler counts it as there for minutes."""

    @gen_cluster(client=True, nthreads=[("", 1)] * 2)
    async def check(client, scheduler, a, b):
        SILENT.add(b.address)
        changes = WorkerChanges()
        results, placed = await results_of(
            client, stuck_where_silent, range(4), changes
        )
        GO.set()
        assert results == [0, 1, 2, 3]
        assert placed[-1][1] == [a.address]
        assert changes == WorkerChanges(lost=[b.address])

    check()


@pytest.mark.usefixtures("go")
def test_what_fails_on_a_newcomer_runs_elsewhere():
    """It may not see the data."""

    @gen_cluster(client=True, nthreads=[("", 1)])
    async def check(client, scheduler, a):
        task = partial(failing_on_newcomers, at_start=a.address)
        changes = WorkerChanges()
        running = asyncio.ensure_future(results_of(client, task, range(6), changes))
        await asyncio.sleep(0.2)
        async with Worker(scheduler.address) as newcomer:
            results, placed = await running
        assert results == [0, 1, 2, 3, 4, 5]
        assert changes == WorkerChanges([newcomer.address], [newcomer.address])
        assert {str(workers) for _, workers in placed[1:]} == {str([a.address])}

    check()


def waiting(number, seconds):
    GO.wait(seconds)
    return number


@pytest.mark.usefixtures("go")
@pytest.mark.parametrize("looks_every_s", [0.05, 3600.0])
def test_a_worker_that_goes_is_told(monkeypatch, looks_every_s):
    """Also where all tasks end elsewhere before the next look."""
    monkeypatch.setattr(plain_tasks, "LOOK_EVERY_S", looks_every_s)

    @gen_cluster(client=True, nthreads=[("", 1)] * 2)
    async def check(client, scheduler, a, b):
        task, changes = partial(waiting, seconds=20), WorkerChanges()
        running = asyncio.ensure_future(results_of(client, task, range(4), changes))
        await async_poll_for(lambda: b.state.executing, timeout=20)
        await scheduler.remove_worker(b.address, stimulus_id="test")
        GO.set()
        results, _ = await running
        assert results == [0, 1, 2, 3]
        assert changes == WorkerChanges(lost=[b.address])

    check()


def test_a_worker_that_comes_back_to_its_address_is_told():
    memory = FullMemory(has_batches=True)
    where = plain_tasks._Where(
        None, None, frozenset("ab"), ["a", "b"], set(), memory, None
    )
    for there in ({"a"}, {"a", "b"}, {"a"}):
        plain_tasks._tell_gone("digits", there, where)
    assert where.changes == WorkerChanges(lost=["b", "b"], joined=["b"])


# Else Dask finds that there is memory, and lets it go on.
UNLIMITED = {"memory_limit": 0}


def long(number, seconds=0.5):
    time.sleep(seconds)
    return number


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(plain_tasks, "PAUSED_LIMIT_S", 0.2)
    monkeypatch.setattr(plain_tasks, "NO_WORKER_TIMEOUT_S", 1.0)


@pytest.mark.usefixtures("impatient")
def test_tasks_that_a_paused_worker_has_not_begun_run_elsewhere(caplog):
    """It answers, and Dask leaves it as many tasks as it has threads."""

    @gen_cluster(client=True, nthreads=[("", 1)] * 2, worker_kwargs=UNLIMITED)
    async def check(client, scheduler, a, b):
        running = asyncio.ensure_future(results_of(client, long, range(4)))
        while not b.state.ready:
            await asyncio.sleep(0.01)
        b.status = Status.paused
        results, placed = await running
        assert results == [0, 1, 2, 3]
        assert len(placed) == 2
        (told,) = [m for m in caplog.messages if m.startswith("digits")]
        assert f"digits: {b.address} must begin its tasks" in told
        assert "it is paused: its memory is nearly full" in told

    check()


@pytest.mark.usefixtures("impatient")
def test_workers_that_are_all_paused_are_not_waited_for_for_ever():
    @gen_cluster(client=True, nthreads=[("", 1)], worker_kwargs=UNLIMITED)
    async def check(client, scheduler, a):
        running = asyncio.ensure_future(results_of(client, long, range(2)))
        while not a.state.ready:
            await asyncio.sleep(0.01)
        a.status = Status.paused
        with pytest.raises(WorkerLostError, match=r"is paused: .* Free their memory"):
            await running

    check()


@pytest.mark.usefixtures("impatient")
def test_a_paused_worker_may_end_what_it_has_begun(monkeypatch):
    @gen_cluster(client=True, nthreads=[("", 1)], worker_kwargs=UNLIMITED)
    async def check(client, scheduler, a):
        work = partial(long, seconds=2.5)
        running = asyncio.ensure_future(results_of(client, work, [7]))
        while not a.state.executing:
            await asyncio.sleep(0.01)
        a.status = Status.paused
        await a.heartbeat()
        results, placed = await running
        assert results == [7]
        assert len(placed) == 1

    check()


def test_tasks_that_a_restart_cancels_run_again(monkeypatch):
    assert run_cancelled(monkeypatch, times=2) == [0, 1, 2]


def test_tasks_that_are_cancelled_for_ever_end_with_that_error(monkeypatch):
    monkeypatch.setattr(plain_tasks, "MOST_RESTARTS", 3)
    with pytest.raises(CancelledError):
        run_cancelled(monkeypatch, times=99)


def run_cancelled(monkeypatch, times):
    """Run tasks that are cancelled so often as soon as they are submitted."""
    monkeypatch.setattr(plain_tasks, "LOOK_EVERY_S", 0.05)
    results = []

    @gen_cluster(client=True, nthreads=[("", 1)])
    async def check(client, scheduler, a):
        from_thread, cancelled = SyncClient(client), []

        def submit(numbers, workers):
            futures = from_thread.map(abs, list(numbers), pure=False, workers=workers)
            if len(cancelled) < times:
                cancelled.append(from_thread.cancel(futures))
            return futures

        results[:] = await asyncio.to_thread(
            run_tasks, from_thread, "digits", 3, submit
        )
        await async_poll_for(lambda: not scheduler.tasks, timeout=20)

    gc.disable()
    try:
        check()
    finally:
        gc.enable()
    return results


@gen_cluster(client=True, nthreads=[("", 1)])
async def test_what_was_submitted_amid_a_restart_is_not_left(client, scheduler, a):
    from_thread = SyncClient(client)

    def submit(numbers, workers):
        futures = from_thread.map(abs, list(numbers), pure=False, workers=workers)
        # Dask counts its restarts so, and releases nothing of those before.
        client.generation += 1
        return futures

    results = await asyncio.to_thread(run_tasks, from_thread, "digits", 3, submit)
    assert results == [0, 1, 2]
    await async_poll_for(lambda: not scheduler.tasks, timeout=20)


@pytest.mark.usefixtures("told_by_the_test")
def test_where_all_that_are_there_are_silent_others_are_waited_for(monkeypatch):
    async def probed(client, addresses, timeout_s, on_waiting):
        silent = SILENT & {*addresses}
        return Probed(frozenset(addresses) - silent, {}, silent)

    monkeypatch.setattr(plain_tasks, "probe_each", probed)

    @gen_cluster(client=True, nthreads=[("", 1)])
    async def check(client, scheduler, a):
        SILENT.add(a.address)
        running = asyncio.ensure_future(
            results_of(client, stuck_where_silent, range(2))
        )
        while not scheduler.tasks:
            await asyncio.sleep(0.01)
        async with Worker(scheduler.address, nthreads=1) as b:
            results, placed = await running
            GO.set()
            assert results == [0, 1]
            assert placed[-1][1] == [b.address]

    check()


@pytest.mark.usefixtures("told_by_the_test")
def test_who_goes_on_while_others_are_waited_for_is_asked_again(monkeypatch):
    asked = []

    async def probed(client, addresses, timeout_s, on_waiting):
        asked.append({*addresses})
        silent = frozenset(SILENT)
        SILENT.clear()
        return Probed(frozenset(addresses) - silent, {}, silent, silent)

    monkeypatch.setattr(plain_tasks, "probe_each", probed)

    @gen_cluster(client=True, nthreads=[("", 1)])
    async def check(client, scheduler, a):
        SILENT.add(a.address)
        changes = WorkerChanges()
        results, placed = await results_of(client, abs, [-1, -2], changes)
        assert results == [1, 2]
        assert placed == [([0, 1], [a.address])]
        assert asked == [{a.address}, {a.address}]
        assert changes == WorkerChanges(joined=[a.address], left_out=[a.address])

    check()


@pytest.mark.usefixtures("told_by_the_test")
def test_who_answers_nothing_but_is_heard_of_is_not_asked_for_ever(monkeypatch):
    async def probed(client, addresses, timeout_s, on_waiting):
        return Probed(frozenset(), {}, frozenset(addresses))

    monkeypatch.setattr(plain_tasks, "probe_each", probed)
    monkeypatch.setattr(plain_tasks, "GONE_WITHIN_S", 0.0)

    @gen_cluster(client=True, nthreads=[("", 1)])
    async def check(client, scheduler, a):
        with pytest.raises(ClusterError, match=r"a worker must answer, .* none of"):
            await results_of(client, abs, [-1])

    check()


@pytest.mark.usefixtures("told_by_the_test")
def test_a_worker_that_goes_on_helps_again():
    @gen_cluster(client=True, nthreads=[("", 1)] * 2)
    async def check(client, scheduler, a, b):
        SILENT.add(b.address)
        task, changes = partial(waiting, seconds=30), WorkerChanges()
        running = asyncio.ensure_future(results_of(client, task, range(4), changes))
        await async_poll_for(lambda: changes.lost, timeout=20)
        SILENT.clear()
        await async_poll_for(lambda: changes.joined, timeout=20)
        GO.set()
        assert (await running)[0] == [0, 1, 2, 3]
        assert changes == WorkerChanges([b.address], [b.address])

    check()


def test_a_worker_that_goes_is_named(caplog):
    @gen_cluster(client=True, nthreads=[("", 1)] * 2)
    async def check(client, scheduler, a, b):
        running = asyncio.ensure_future(results_of(client, long, range(4)))
        while not b.state.executing:
            await asyncio.sleep(0.01)
        await b.close(executor_wait=False)
        await running
        told = [m for m in caplog.messages if m.startswith("digits")]
        assert told == [f"digits: {b.address} is gone. Its tasks run elsewhere."]

    check()


@gen_cluster(client=True, nthreads=[("", 1)] * 2)
async def test_nothing_is_left_queued_after_an_error(client, scheduler, a, b):
    """The caught error holds the futures, as its traceback does in a notebook."""
    with pytest.raises(ValueError, match="invalid literal") as caught:
        await results_of(client, int, ["1", "x"])
    while scheduler.tasks:
        await asyncio.sleep(0.01)
    assert caught.value.__traceback__ is not None


@gen_cluster(client=True, nthreads=[("", 1)] * 2)
async def test_nothing_is_left_queued_after_an_interrupt(client, scheduler, a, b):
    from_thread = SyncClient(client)

    def submit(numbers, workers):
        futures = from_thread.map(long, list(numbers), pure=False, workers=workers)
        kept.extend(futures)
        return futures

    def interrupted(*args):
        raise KeyboardInterrupt

    def work():
        with pytest.raises(KeyboardInterrupt):
            run_tasks(from_thread, "digits", 4, submit)

    kept = []
    before, plain_tasks._gather = plain_tasks._gather, interrupted
    try:
        await asyncio.to_thread(work)
    finally:
        plain_tasks._gather = before
    assert {future.status for future in kept} == {"cancelled"}


@gen_cluster(client=True, nthreads=[("", 1)] * 2)
async def test_who_is_left_out_is_told_once_and_not_asked_again(
    client, scheduler, a, b
):
    async def probe(client, addresses, *args):
        asked.append(set(addresses))
        return Probed(
            frozenset(addresses) - {b.address}, {b.address: "Python 3"}, frozenset()
        )

    asked, changes = [], WorkerChanges()
    before, plain_tasks.probe_each = plain_tasks.probe_each, probe
    try:
        await results_of(client, partial(long, seconds=2), [1], changes=changes)
    finally:
        plain_tasks.probe_each = before
    assert asked == [{a.address, b.address}]
    assert changes == WorkerChanges(left_out=[b.address])


@gen_cluster(client=True, nthreads=[("", 1)])
async def test_a_newcomer_that_is_left_out_is_told(client, scheduler, a):
    async def probe(client, addresses, *args):
        able = frozenset(addresses) & {a.address}
        return Probed(able, dict.fromkeys({*addresses} - able, "Python 3"), frozenset())

    changes = WorkerChanges()
    before, plain_tasks.probe_each = plain_tasks.probe_each, probe
    try:
        running = asyncio.ensure_future(
            results_of(client, partial(long, seconds=2), [1], changes=changes)
        )
        while not scheduler.tasks:
            await asyncio.sleep(0.01)
        async with Worker(scheduler.address, nthreads=1) as b:
            await running
            assert changes == WorkerChanges(left_out=[b.address])
    finally:
        plain_tasks.probe_each = before


@pytest.mark.parametrize(
    ("failures", "workers"), [(1, ["a", "d"]), (2, ["a", "d"]), (3, ["a"])]
)
def test_what_fails_on_many_newcomers_is_left_to_who_was_there(failures, workers):
    where = plain_tasks._Where(
        None, None, frozenset("ab"), ["a", "d"], {"b", "c"}, None, None
    )
    where.failures[7] = failures
    assert plain_tasks._who_does_better(where, [5, 7]) == workers


def test_what_fails_where_nobody_else_is_left_fails():
    where = plain_tasks._Where(None, None, frozenset("a"), [], {"b"}, None, None)
    assert plain_tasks._who_does_better(where, [0]) == []


@gen_cluster(client=True, nthreads=[("", 1)])
async def test_what_was_cancelled_before_it_was_known_is_released(client, scheduler, a):
    # Longer than any machine takes to read a graph: what is late is seen.
    before, placement._KNOWN_WITHIN_S = placement._KNOWN_WITHIN_S, 60.0
    try:
        releasing = placement.release_late(["late"], client.id, scheduler)
        released = asyncio.ensure_future(releasing)
        await asyncio.sleep(0.2)
        late, other = client.submit(int, key="late"), client.submit(int, key="other")
        await other
        while "late" in scheduler.tasks:
            await asyncio.sleep(0.05)
        released.cancel()
    finally:
        placement._KNOWN_WITHIN_S = before
    assert [*scheduler.tasks] == ["other"]
    assert late.key == "late"
