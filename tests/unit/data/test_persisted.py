"""A chunk that was persisted, and is nowhere any more."""

import asyncio
import pickle
from types import SimpleNamespace

import pytest

from daskdl.data.sources import persisted
from daskdl.errors import DataError


def worker_that_hears(state):
    async def get_task_status(keys):
        return dict.fromkeys(keys, state)

    async def who_has(keys):
        return dict.fromkeys(keys, ())

    scheduler = SimpleNamespace(get_task_status=get_task_status, who_has=who_has)
    return SimpleNamespace(data={}, scheduler=scheduler, address="tcp://here")


@pytest.mark.parametrize(
    ("state", "message"),
    [
        (None, "must stay on the workers, it is gone"),
        ("erred", "must be computed again, which failed: .*allowed-failures"),
        ("queued", r"must be computed again within 0\.2 s, .* it is queued"),
    ],
)
def test_a_lost_chunk_is_not_waited_for_without_end(monkeypatch, state, message):
    monkeypatch.setattr(persisted, "_COMPUTED_AGAIN_WITHIN_S", 0.2)
    with pytest.raises(DataError, match=f"the persisted chunk 'x-0' {message}"):
        asyncio.run(persisted._value(worker_that_hears(state), "x-0"))


def test_a_chunk_that_is_held_is_waited_for(monkeypatch):
    """Whoever holds it may be stopped for longer than one may take to be computed."""
    monkeypatch.setattr(persisted, "_COMPUTED_AGAIN_WITHIN_S", 0.2)
    asked = []

    async def who_has(keys):
        return dict.fromkeys(keys, ("tcp://stopped",))

    async def gather_from_workers(who_has, rpc, who):
        asked.append(who)
        return ({"x-0": 7} if len(asked) > 5 else {}, [], [], [])

    monkeypatch.setattr(
        "distributed.utils_comm.gather_from_workers", gather_from_workers
    )
    worker = worker_that_hears("memory")
    worker.scheduler.who_has, worker.rpc = who_has, None
    assert asyncio.run(persisted._value(worker, "x-0")) == 7


def test_a_process_that_is_no_worker_cannot_read_a_chunk():
    there = pickle.loads(pickle.dumps(persisted.PersistedValue("x-0", None)))
    with pytest.raises(DataError, match="must be read by a task on a worker"):
        there.load()
