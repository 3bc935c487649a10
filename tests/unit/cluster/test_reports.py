"""What wakes the driver: reports, and members whose task ends."""

import time

import pytest

from daskdl.cluster.reports import MemberFailed, MemberReturned, ReportQueue


class Client:
    """No reports."""

    def subscribe_topic(self, topic, handler):
        pass

    def unsubscribe_topic(self, topic):
        pass


class Future:
    """Ends when the test says so."""

    def __init__(self):
        self.status = "pending"
        self._callbacks = []

    def add_done_callback(self, callback):
        self._callbacks.append(callback)

    def exception(self):
        return ValueError("it failed")

    def end(self, status):
        self.status = status
        for callback in self._callbacks:
            callback(self)


@pytest.fixture
def queue():
    with ReportQueue(Client(), "topic") as opened:
        yield opened


def test_a_member_that_returns_wakes_the_driver_at_once(queue, monkeypatch):
    """It was noticed half a second later, at the end of every fit."""
    monkeypatch.setattr("daskdl.cluster.reports.WAIT_S", 60.0)
    future = Future()
    queue.watch(3, future)
    future.end("finished")
    start_s = time.monotonic()
    assert queue.get() == MemberReturned(3)
    assert time.monotonic() - start_s < 30


def test_a_member_that_fails_is_told_with_its_error(queue):
    future = Future()
    queue.watch(3, future)
    future.end("error")
    event = queue.get()
    assert isinstance(event, MemberFailed)
    assert str(event.error) == "it failed"


def test_a_member_that_was_cancelled_is_not_told(queue, monkeypatch):
    monkeypatch.setattr("daskdl.cluster.reports.WAIT_S", 0.01)
    future = Future()
    queue.watch(3, future)
    future.end("cancelled")
    assert queue.get() is None
