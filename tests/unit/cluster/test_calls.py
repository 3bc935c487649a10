"""Calls to workers of a cluster in the test's own event loop."""

import asyncio
from contextlib import contextmanager

import numpy as np
import pytest
from distributed.core import Status
from distributed.utils_test import gen_cluster

from daskdl.cluster import calls, shared_state
from daskdl.cluster.calls import call_each, call_first
from daskdl.cluster.shared_objects import NotHere, SharedObjects, share_objects
from daskdl.cluster.shared_state import share_state
from daskdl.training.state import NetworkState
from tests.unit.cluster.inline_client import InlineClient

TIMEOUT_S = 20.0


async def add(number, dask_worker):
    """Count up; fail at 1, never answer at 2."""
    if number == 1:
        raise ValueError("one")
    while number == 2:
        await asyncio.sleep(1)
    return number + 1


@gen_cluster(client=True, nthreads=[("", 1)] * 3)
async def test_each_worker_answers_for_itself(client, scheduler, a, b, c):
    given = {a.address: (0,), b.address: (1,), c.address: (2,)}
    answers = await call_each(client, add, given, timeout_s=3.0)
    assert answers.values == {a.address: 1}
    assert [str(error) for error in answers.failed.values()] == ["one"]
    assert answers.silent == {c.address}


@gen_cluster(client=True, nthreads=[("", 1)] * 2)
async def test_a_worker_that_goes_is_not_waited_for(client, scheduler, a, b):
    given = {a.address: (0,), b.address: (2,)}
    call = asyncio.create_task(call_each(client, add, given, TIMEOUT_S))
    await asyncio.sleep(0.1)
    await b.close()
    answers = await call
    assert (answers.values, answers.silent) == ({a.address: 1}, frozenset())


@gen_cluster(client=True, nthreads=[("", 1)] * 3)
async def test_the_next_one_is_asked_when_one_fails_or_does_not_answer(
    client, scheduler, a, b, c
):
    given = {a.address: (2,), b.address: (1,), c.address: (0,)}
    assert await call_first(client, add, given, TIMEOUT_S, 0.2) == 1


@gen_cluster(client=True, nthreads=[("", 1)] * 2)
async def test_of_workers_that_do_not_answer_none_is_first(client, scheduler, a, b):
    given = {a.address: (2,), b.address: (2,)}
    assert await call_first(client, add, given, 0.3, 0.1) is None


@gen_cluster(client=True, nthreads=[("", 1)] * 2)
async def test_who_is_waited_for_is_named_once(client, scheduler, a, b):
    named = []
    given = {a.address: (0,), b.address: (2,)}
    before, calls.NAMED_AFTER_S = calls.NAMED_AFTER_S, 0.1
    try:
        await call_each(client, add, given, 1.5, named.append)
    finally:
        calls.NAMED_AFTER_S = before
    assert named == [[b.address]]


@gen_cluster(client=True, nthreads=[("", 1)])
async def test_a_worker_that_is_gone_already_is_no_error(client, scheduler, a):
    gone = "tcp://127.0.0.1:1"
    answers = await call_each(client, add, {a.address: (0,), gone: (0,)}, TIMEOUT_S)
    assert (answers.values, answers.failed) == ({a.address: 1}, {})


def total(array, number, dask_worker):
    assert array.flags.aligned
    assert array.flags.writeable
    return dask_worker.address, array.sum() + number


class Unreadable:
    """What no worker can unpickle."""

    def __reduce__(self):
        return float, ("no number",)


WAYS = ["memory", "memory that is not there", "stored"]


@contextmanager
def on_the_way(way):
    """Have large arguments take one of the ways to a worker."""
    before = calls.is_on_this_machine, calls.share_objects
    if way == "stored":
        calls.is_on_this_machine = lambda address: False
    elif way == "memory that is not there":
        # As on a machine whose address looks like ours.
        calls.share_objects = lambda objects: SharedObjects("/dev/shm/no", b"", (), ())
    try:
        yield
    finally:
        calls.is_on_this_machine, calls.share_objects = before


@pytest.mark.parametrize("way", WAYS)
def test_large_arguments_reach_the_worker_that_they_are_for(way):
    @gen_cluster(client=True, nthreads=[("", 1)] * 2)
    async def reach(client, scheduler, a, b):
        given = {a.address: (np.ones(1000), 1), b.address: (np.ones(1000), 2)}
        answers = await call_each(client, total, given, TIMEOUT_S, is_large=True)
        expected = {a.address: (a.address, 1001.0), b.address: (b.address, 1002.0)}
        assert answers.values == expected
        while a.data or b.data or scheduler.tasks:
            await asyncio.sleep(0.01)

    with on_the_way(way):
        reach()


@pytest.mark.parametrize("way", WAYS)
def test_a_worker_that_stores_nothing_gets_large_arguments_all_the_same(way):
    """One that is paused; and one that is gone is no error."""

    # Without a limit nobody looks at its memory, and lets it go on.
    @gen_cluster(client=True, nthreads=[("", 1)] * 2, worker_kwargs={"memory_limit": 0})
    async def get(client, scheduler, a, b):
        b.status = Status.paused
        while scheduler.workers[b.address].status != Status.paused:
            await asyncio.sleep(0.01)
        addresses = (b.address, "tcp://127.0.0.1:1")
        given = {address: (np.ones(10), 0) for address in addresses}
        answers = await call_each(client, total, given, TIMEOUT_S, is_large=True)
        assert (answers.values, answers.failed) == ({b.address: (b.address, 10.0)}, {})

    with on_the_way(way):
        get()


@pytest.mark.parametrize("way", WAYS)
def test_large_arguments_that_cannot_be_unpickled_are_an_error_of_the_worker(way):
    @gen_cluster(client=True, nthreads=[("", 1)])
    async def fail(client, scheduler, a):
        given = {a.address: (Unreadable(), 0)}
        answers = await call_each(client, total, given, TIMEOUT_S, is_large=True)
        assert "could not convert string to float" in str(answers.failed[a.address])

    with on_the_way(way):
        fail()


def test_objects_come_out_of_memory_as_they_went_in():
    objects = {"x": np.arange(5), "empty": np.empty((0, 3)), "text": "t"}
    shared = share_objects(objects)
    loaded = shared.load()
    shared.unlink()
    np.testing.assert_array_equal(loaded["x"], objects["x"])
    assert loaded["empty"].shape == (0, 3)
    assert loaded["text"] == "t"
    assert isinstance(shared.load(), NotHere)


STATE = NetworkState(
    configuration={"seed": 1},
    params=np.arange(1000, dtype=np.float32),
    updater_state=np.zeros(3, np.float32),
    iteration_count=5,
    epoch_count=2,
    score=0.5,
)


@pytest.mark.parametrize("piece_bytes", [100, 1 << 20])
def test_a_network_comes_out_of_its_pieces_as_it_was(monkeypatch, piece_bytes):
    monkeypatch.setattr(shared_state, "PIECE_BYTES", piece_bytes)
    shared = share_state(InlineClient(), STATE).future
    np.testing.assert_array_equal(shared.params, STATE.params)
    assert (shared.configuration, shared.score) == ({"seed": 1}, 0.5)


@gen_cluster(client=True, nthreads=[("", 1)] * 2)
async def test_a_network_outlives_the_worker_that_has_it(client, scheduler, a, b):
    """What is scattered does not: tasks that need it are cancelled."""
    state = share_state(client, STATE, workers=[a.address, b.address])
    shared = state.future
    await shared
    (holder,) = (each for each in (a, b) if shared.key in each.data)
    await holder.close()
    score = await client.submit(lambda state: state.score, shared, pure=False)
    assert score == STATE.score
