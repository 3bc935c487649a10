"""Networks that only one worker has, or makes, as a real scheduler knows it."""

import threading
from types import SimpleNamespace

import pytest
from distributed import get_worker
from distributed.utils_test import async_poll_for, gen_cluster

from daskdl.cluster.member_tasks import only_on

# In the process of all workers of a test.
GO = threading.Event()


@pytest.fixture(autouse=True)
def _go():
    GO.clear()
    yield
    GO.set()


def waits():
    GO.wait(30)
    return get_worker().address


@gen_cluster(client=True, nthreads=[("", 1)] * 2)
async def test_what_one_makes_is_only_there(client, scheduler, a, b):
    made = client.submit(waits, workers=[b.address])
    await async_poll_for(lambda: b.state.executing, timeout=20)
    assert only_on([made.key], b.address, scheduler)
    assert not only_on([made.key], a.address, scheduler)
    GO.set()
    await made
    assert only_on([made.key], b.address, scheduler)


@gen_cluster(client=True, nthreads=[("", 1)] * 2)
async def test_what_others_have_too_is_not(client, scheduler, a, b):
    made = client.submit(int, 1, workers=[b.address])
    await client.submit(str, made, workers=[a.address])
    await async_poll_for(
        lambda: len(scheduler.tasks[made.key].who_has) == 2, timeout=20
    )
    assert not only_on([made.key], b.address, scheduler)


def task(made_by=None, held_by=()):
    return SimpleNamespace(
        who_has=[SimpleNamespace(address=address) for address in held_by],
        processing_on=made_by and SimpleNamespace(address=made_by),
    )


@pytest.mark.parametrize(
    ("whole", "is_only"),
    [(task(made_by="a"), True), (task(), True), (task(held_by=["a"]), False)],
    ids=["waits for the part", "waits for a worker", "made already"],
)
def test_what_needs_a_part_that_only_one_has_is_only_there_too(whole, is_only):
    scheduler = SimpleNamespace(tasks={"whole": whole, "part": task(held_by=["b"])})
    assert only_on(["whole", "part"], "b", scheduler) is is_only


@gen_cluster(client=True, nthreads=[("", 1)])
async def test_what_nobody_knows_is_nowhere(client, scheduler, a):
    assert not only_on(["unknown"], a.address, scheduler)
