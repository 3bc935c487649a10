"""What a member records of its activities, and tells."""

from types import SimpleNamespace

import pytest

from daskdl.cluster.clocks import ClockOffset, client_offset_s
from daskdl.cluster.exchanges.gradient_sharing import GradientSharingExchange
from daskdl.cluster.exchanges.parameter_averaging import ParameterAveragingExchange
from daskdl.cluster.mailbox import Mailbox
from daskdl.cluster.masters.options import (
    ParameterAveragingTrainingMaster,
    SharedTrainingMaster,
)
from daskdl.cluster.stats import member_spans
from daskdl.cluster.stats.member_spans import MemberSpans
from daskdl.cluster.stats.spans import LATEST, SpanRecorder
from daskdl.cluster.worker_news import WorkerNews
from daskdl.nn.fitting.events import SpansMeasured
from daskdl.nn.fitting.fit import Fit
from daskdl.nn.fitting.listener import Listener
from tests.unit.cluster.scripted_topic import (
    Network,
    ScriptedTopic,
    brought,
    train,
    work,
)


class Clock:
    """A second passes between two looks at it."""

    now = 0.0

    def __call__(self):
        self.now += 1.0
        return self.now


class Time:
    """Stands in for the module ``time``; the day began 1000 s before it."""

    now = 0.0

    def monotonic(self):
        return self.now

    def time(self):
        return self.now + 1000.0


@pytest.fixture
def time(monkeypatch):
    made = Time()
    monkeypatch.setattr(member_spans, "time", made)
    return made


def test_time_within_an_activity_is_its_own():
    spans = SpanRecorder(Clock())  # 1
    with spans.compute:  # from 2 to 3
        pass
    stretch = spans.take()  # 4
    assert (stretch.start_s, stretch.stop_s) == (1.0, 4.0)
    assert stretch.seconds == {"compute": 1.0}


def test_of_two_within_each_other_the_inner_one_counts():
    spans = SpanRecorder(Clock())
    with spans.compute, spans.encode, spans.wait:  # from 2, 3 and 4
        pass  # to 5, 6 and 7
    assert spans.take().seconds == {"compute": 2.0, "encode": 2.0, "wait": 1.0}


def test_an_activity_within_itself_is_one_span():
    spans = SpanRecorder(Clock())
    with spans.average, spans.average:
        pass
    assert spans.latest == [(2.0, "average", 1.0)]


def test_an_error_ends_an_activity_too():
    spans = SpanRecorder(Clock())
    with pytest.raises(ZeroDivisionError), spans.read:
        _ = 1 / 0
    assert spans.doing is None


def test_what_goes_on_is_told_so_far_and_then_the_rest():
    spans = SpanRecorder(Clock())
    with spans.wait:  # 2
        assert spans.take().seconds == {"wait": 1.0}
    stretch = spans.take()
    assert stretch.seconds == {"wait": 1.0}
    assert stretch.start_s == 4.0
    assert spans.totals["wait"] == 2.0


def test_only_the_last_single_spans_are_kept():
    spans = SpanRecorder(Clock())
    for _ in range(LATEST + 5):
        with spans.read:
            pass
    assert len(spans.latest) == LATEST
    assert spans.latest[0][0] == 12.0


def averaging(topic):
    master = ParameterAveragingTrainingMaster(averaging_frequency=1, save_updater=False)
    network = Network()
    return network, ParameterAveragingExchange(
        0, topic, Mailbox(), master, network.updater_state
    )


def kinds(exchange):
    return {name for _, name, _ in exchange.spans.latest}


def test_averaging_is_told_apart_from_waiting_for_peers():
    network, exchange = averaging(ScriptedTopic(brought(1, 3.0)))
    exchange.begin(network, frozenset({0, 1}), work(1))
    with exchange.spans.compute:
        train(exchange, network, 1.0)
    assert kinds(exchange) == {"compute", "average", "wait"}


def test_who_publishes_waits_where_there_is_no_room():
    class Full(ScriptedTopic):
        def publish(self, data, *, on_block, **options):
            on_block()
            super().publish(data, **options)

    network, exchange = averaging(Full(brought(1, 3.0)))
    exchange.begin(network, frozenset({0, 1}), work(1))
    with exchange.spans.compute:
        exchange._publish("something")
        assert exchange.spans.doing == "compute"
    assert [name for _, name, _ in exchange.spans.latest][-3:] == [
        "compute",
        "wait",
        "compute",
    ]


def test_sharing_encodes_and_takes_in():
    network = Network()
    exchange = GradientSharingExchange(
        0, ScriptedTopic(), Mailbox(), SharedTrainingMaster(), network.params
    )
    exchange.begin(network, frozenset({0}), work(1))
    with exchange.spans.compute:
        train(exchange, network, 1.0)
    exchange.end(network)
    assert {"compute", "take_in"} <= kinds(exchange)


def told_of(time, worker=None):
    clock = SimpleNamespace(scheduler_delay=0.25)
    recorder = SpanRecorder(time.monotonic)
    return MemberSpans(recorder, worker or clock)


def test_spans_are_told_on_the_schedulers_clock(time):
    member = told_of(time)
    with member.recorder.compute:
        time.now = 2.0
    member.trained(32)
    spans = member.values(with_latest=True)["spans"]
    assert (spans["start_s"], spans["stop_s"]) == (1000.25, 1002.25)
    assert spans["seconds"] == {"compute": 2.0}
    assert spans["minibatches"] == 1
    assert spans["latest"] == [[1000.25, "compute", 2.0]]


def test_they_are_told_often_at_first_and_then_every_few_seconds(time):
    member, told = told_of(time), []
    while time.now < 86_400:
        if member.values_if_due():
            told.append(time.now)
        time.now += 0.125
    assert told[:3] == [0.25, 0.5, 0.75]
    assert told[-1] - told[-2] == member_spans.MOST_EVERY_S
    assert len(told) < 20_000


def test_a_clock_is_the_median_of_its_last_heartbeats():
    clock = ClockOffset()
    assert (clock.offset_s, clock.error_s) == (0.0, 0.0)
    for offset_s in [9.0, *[3.0, 3.1, 2.9] * 5, 3.1]:
        clock.note(offset_s)
        clock.note(offset_s)
    assert clock.offset_s == 3.0
    assert clock.error_s == pytest.approx(0.1)


def test_the_client_believes_the_fastest_answer():
    ticks = iter([0.0, 4.0, 10.0, 10.5, 20.0, 21.0])
    there = iter([102.5, 110.25, 120.1])
    client = SimpleNamespace(run_on_scheduler=lambda function: next(there))
    assert client_offset_s(client, lambda: next(ticks)) == 100.0


class Heard(Listener):
    def __init__(self):
        self.events = []

    def on_event(self, event):
        self.events.append(event)


def test_a_fit_hears_of_spans_on_its_own_clock(monkeypatch):
    """So that whoever listens may show them while the fit runs."""
    listener = Heard()
    fit = Fit([listener], 1, lambda: None)
    members = SimpleNamespace(
        address_of=lambda rank: f"tcp://w{rank}", clock_offset_s=lambda: 5.0
    )
    news = WorkerNews(members, fit)
    began_s = news._began_s()
    spans = {
        "start_s": began_s + 1.0,
        "stop_s": began_s + 2.0,
        "seconds": {"wait": 0.5},
        "minibatches": 4,
        "clock_offset_s": 0.5,
        "clock_error_s": 0.0,
        "latest": [[began_s + 1.5, "wait", 0.5]],
    }
    news.tell_measured(3, {"spans": spans})
    (event,) = listener.events
    assert isinstance(event, SpansMeasured)
    assert event.start_s == pytest.approx(1.0, abs=1e-6)
    assert event.latest[0][0] == pytest.approx(1.5, abs=1e-6)
    (lane,) = fit.report.timeline.lanes
    assert (lane.worker, lane.member, lane.minibatches) == ("tcp://w3", 3, 4)
