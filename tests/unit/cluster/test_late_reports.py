"""What a member says when its fit may have ended."""

from types import SimpleNamespace

import pytest

from daskdl.cluster import session
from daskdl.cluster.mailbox import Mailbox
from daskdl.cluster.orders import Stop
from daskdl.cluster.stats.spans import SpanRecorder

TOPIC = "daskdl-fit"


class Clock:
    now = 0.0

    def monotonic(self):
        return self.now


class Told:
    """Keeps what a member tells, by the way that it takes."""

    def __init__(self):
        self.at_once, self.asked = [], []

    def log_event(self, topic, message):
        self.at_once.append(message["what"])

    def report(self, topic, message):
        self.asked.append(message["what"])
        return True


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(session, "time", made)
    return made


@pytest.fixture
def told(monkeypatch):
    made = Told()
    monkeypatch.setattr(session, "get_worker", lambda: made)
    return made


@pytest.fixture
def member(clock, told):
    spec = SimpleNamespace(topic=TOPIC, cache_bytes=0)
    exchange = SimpleNamespace(complain=None, spans=SpanRecorder())
    return session.Member(spec, 0, None, exchange, Mailbox(), None, told)


def test_who_says_something_all_the_time_is_not_slowed_down(member, clock, told):
    for _ in range(4):
        clock.now += session.SILENT_S
        member.report("progress")
    assert told.at_once == ["progress"] * 4
    assert told.asked == []


def test_who_may_have_been_stopped_asks_whether_the_fit_goes_on(member, clock, told):
    clock.now += session.SILENT_S + 1
    member.report("progress")
    member.report("finished")
    assert told.asked == ["progress"]
    assert told.at_once == ["finished"]


def test_the_last_word_is_for_a_fit_that_goes_on(member, told):
    member.report("returned", is_late=True)
    assert told.asked == ["returned"]
    assert told.at_once == []


def test_who_was_told_to_stop_says_nothing_more(member, told):
    member._mailbox.put(Stop(reason="enough"))
    member.report("progress")
    member.report("returned", is_late=True)
    assert told.at_once == told.asked == []
