"""Calls to workers of a cluster in the test's own event loop."""

import asyncio

import numpy as np
import pytest
from distributed import KilledWorker
from distributed.utils_test import gen_cluster

from daskdl.cluster import calls, shared_state
from daskdl.cluster.calls import call_each, gather_all
from daskdl.cluster.shared_state import share_state
from daskdl.errors import WorkerLostError
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


@gen_cluster(client=True, nthreads=[("", 1)])
async def test_a_worker_that_is_gone_already_is_no_error(client, scheduler, a):
    gone = "tcp://127.0.0.1:1"
    answers = await call_each(client, add, {a.address: (0,), gone: (0,)}, TIMEOUT_S)
    assert (answers.values, answers.failed) == ({a.address: 1}, {})


@gen_cluster(client=True, nthreads=[])
async def test_without_workers_tasks_are_not_waited_for_for_ever(client, scheduler):
    calls.NO_WORKER_TIMEOUT_S, before = 0.1, calls.NO_WORKER_TIMEOUT_S
    try:
        future = client.submit(abs, -1, pure=False)
        with pytest.raises(WorkerLostError, match="digits: at least one worker must"):
            await calls._gather(client, "digits", [future])
    finally:
        calls.NO_WORKER_TIMEOUT_S = before


@gen_cluster(client=True, nthreads=[("", 1)])
async def test_the_error_of_a_task_comes_out_as_it_is(client, scheduler, a):
    future = client.submit(int, "x", pure=False)
    with pytest.raises(ValueError, match="invalid literal"):
        await calls._gather(client, "digits", [future])


def test_a_task_that_kills_its_workers_is_told_in_our_words():
    def killed(results):
        raise KilledWorker("task", None, 3)

    with pytest.raises(WorkerLostError, match="digits: a task must not take its"):
        gather_all(InlineClient(answer=killed), "digits", [])


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
    shared = share_state(InlineClient(), STATE)
    np.testing.assert_array_equal(shared.params, STATE.params)
    assert (shared.configuration, shared.score) == ({"seed": 1}, 0.5)


@gen_cluster(client=True, nthreads=[("", 1)] * 2)
async def test_a_network_outlives_the_worker_that_has_it(client, scheduler, a, b):
    """What is scattered does not: tasks that need it are cancelled."""
    shared = share_state(client, STATE, workers=[a.address])
    await shared
    await a.close()
    score = await client.submit(lambda state: state.score, shared, pure=False)
    assert score == STATE.score
