"""Workers that go, or fall silent, while they are sent rows."""

import threading

import pytest

from daskdl.cluster.silent_workers import LOOKS, Heartbeat
from daskdl_bridge.spark import direct_watch
from daskdl_bridge.spark.direct_watch import WorkerWatch

HEARD = Heartbeat(0.1, "running")
SILENT = Heartbeat(99.0, "running")


class Scheduler:
    """A client whose scheduler says one thing after the other, then the last again."""

    def __init__(self, *said):
        self.said = list(said)
        self.asked = 0
        self.is_done = threading.Event()

    def run_on_scheduler(self, function):
        self.asked += 1
        now = self.said.pop(0) if len(self.said) > 1 else self.said[0]
        if self.asked > 2 * LOOKS:
            self.is_done.set()
        if isinstance(now, Exception):
            raise now
        return now


@pytest.fixture(autouse=True)
def without_waiting(monkeypatch):
    monkeypatch.setattr(direct_watch, "_LOOK_EVERY_S", 0.001)


def watched(scheduler):
    canceled = threading.Event()
    with WorkerWatch(scheduler, ["a", "b"], 60.0, canceled.set) as watch:
        while not (canceled.is_set() or scheduler.is_done.is_set()):
            canceled.wait(0.01)
    assert canceled.is_set() == (watch.lost is not None)
    return watch.lost


def test_a_worker_that_is_gone_is_named_at_once():
    scheduler = Scheduler({"a": HEARD, "b": HEARD}, {"a": HEARD})
    assert watched(scheduler) == ("b", "the scheduler has lost it")
    assert scheduler.asked == 2


def test_a_worker_that_is_silent_is_named():
    found = watched(Scheduler({"a": SILENT, "b": HEARD}))
    assert found == ("a", "it has sent no heartbeat for 60 s")


def test_workers_that_answer_are_left_alone():
    assert watched(Scheduler({"a": HEARD, "b": HEARD})) is None


def test_one_look_is_not_enough():
    """A scheduler that was itself stopped has old heartbeats."""
    both = {"a": HEARD, "b": HEARD}
    assert watched(Scheduler({"a": SILENT, "b": SILENT}, both)) is None


def test_a_scheduler_that_does_not_answer_says_nothing_of_workers():
    both = {"a": HEARD, "b": HEARD}
    assert watched(Scheduler(OSError("no"), both)) is None
