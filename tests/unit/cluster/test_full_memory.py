"""Whether a worker went because its memory was full."""

import time

import pytest

from daskdl.cluster.full_memory import (
    DeathsInARow,
    FullMemory,
    ended_by_nannies,
    told_by_nannies,
)
from daskdl.cluster.silent_workers import Heartbeat

MIB = 1 << 20


@pytest.mark.parametrize(
    ("held", "limit", "is_told"),
    [(900, 1024, True), (600, 1024, False), (900, 0, False)],
)
def test_what_was_held_is_told_if_it_was_nearly_all(held, limit, is_told):
    memory = FullMemory()
    memory.note({"a": Heartbeat(0.1, "running", held * MIB, limit * MIB)})
    assert ("900 MiB of a limit of 1,024 MiB" in memory.reason("a")) == is_told


def test_the_last_word_counts_also_after_the_worker_went():
    memory = FullMemory()
    memory.note({"a": Heartbeat(0.1, "running", 900 * MIB, 1024 * MIB)})
    memory.note({"b": Heartbeat(0.1, "running", 100 * MIB, 1024 * MIB)})
    assert memory.reason("a")
    assert not memory.reason("b")
    assert not memory.reason("nobody")


def test_of_several_workers_one_whose_memory_was_full_is_named():
    memory = FullMemory()
    memory.note({"a": Heartbeat(0.1, "running", 900 * MIB, 1024 * MIB)})
    memory.note({"b": Heartbeat(0.1, "running", 100 * MIB, 1024 * MIB)})
    assert memory.reason_of_any("ba") == f"a: {memory.reason('a')}"
    assert memory.reason_of_any("b") == ""


@pytest.mark.parametrize(("has_batches", "is_told"), [(True, True), (False, False)])
def test_batch_size_is_told_of_where_it_matters(has_batches, is_told):
    memory = FullMemory(has_batches=has_batches)
    memory.note({"a": Heartbeat(0.1, "running", 900 * MIB, 1024 * MIB)})
    assert ("lower batch_size" in memory.reason("a")) == is_told


@pytest.mark.parametrize(("n_workers", "most"), [(1, 4), (2, 4), (5, 10)])
def test_some_deaths_in_a_row_are_too_many(n_workers, most):
    deaths = DeathsInARow(n_workers)
    told = [deaths.are_too_many(1, ended=0) for _ in range(2 * most)]
    assert told == ([False] * (most - 1) + [True]) * 2


def test_deaths_between_which_tasks_end_are_not_in_a_row():
    deaths = DeathsInARow(1)
    assert not any(deaths.are_too_many(1, ended=number) for number in range(1, 20))


class Logs:
    """A client whose nannies wrote these lines."""

    def __init__(self, *lines):
        self._lines = lines

    def get_worker_logs(self, nanny):
        assert nanny
        return {"a": [("WARNING", line) for line in self._lines], "b": []}


def test_nannies_know_who_was_ended():
    line = "Worker tcp://a (pid=7) exceeded 95% memory budget. Restarting..."
    assert "because their memory was full" in told_by_nannies(Logs("Closing", line))
    assert told_by_nannies(Logs("Closing")) == ""


class Events:
    """A scheduler with one event of a nanny, and its client."""

    def __init__(self, age_s):
        self._event = time.time() - age_s, {"worker": "a", "pid": 7, "rss": 900 * MIB}

    def get_events(self, topic):
        return (self._event,) if topic == "worker-restart-memory" else ()

    def run_on_scheduler(self, function):
        return function(dask_scheduler=self)


def test_whom_a_nanny_ended_is_told_whatever_it_held_before():
    memory = FullMemory()
    memory.note({"a": Heartbeat(0.1, "running", 100 * MIB, 1024 * MIB)})
    memory.ask(Events(age_s=1))
    assert "Dask ended it, as its memory was full: 900 MiB" in memory.reason("a")
    assert not memory.reason("b")


def test_what_nannies_did_long_ago_is_of_others():
    assert ended_by_nannies(Events(age_s=3600)) == {}


def test_a_cluster_that_is_gone_tells_nothing():
    class Gone:
        def get_worker_logs(self, nanny):
            raise OSError("closed")

    assert told_by_nannies(Gone()) == ""
