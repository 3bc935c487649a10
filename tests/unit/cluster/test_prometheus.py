"""What Prometheus is told of the members of a process."""

import subprocess
import sys
from types import SimpleNamespace

import pytest

from daskdl.cluster.bus.stats import TopicStats
from daskdl.cluster.stats import prometheus
from daskdl.cluster.stats.member_spans import MemberSpans
from daskdl.cluster.stats.prometheus import ProcessMetrics, scraped
from daskdl.cluster.stats.spans import SpanRecorder

client = pytest.importorskip("prometheus_client", reason="needs daskdl[prometheus]")


class Clock:
    """Stands until it is set."""

    now = 0.0

    def __call__(self):
        return self.now


class Process:
    """The metrics of one process, with a registry of their own."""

    def __init__(self):
        self.metrics = ProcessMetrics()
        self.registry = client.CollectorRegistry(auto_describe=True)
        self.metrics.register(self.registry)
        self.clock = Clock()

    def spans(self):
        worker = SimpleNamespace(scheduler_delay=0.0)
        return MemberSpans(SpanRecorder(self.clock), worker)

    def __getitem__(self, name):
        return self.registry.get_sample_value(f"daskdl_{name}")

    def seconds(self, activity):
        return self.registry.get_sample_value(
            "daskdl_activity_seconds_total", {"activity": activity}
        )


@pytest.fixture
def process():
    return Process()


def test_a_member_is_counted_while_it_trains(process):
    spans, stats = process.spans(), TopicStats()
    with process.metrics.counting(spans, lambda: stats):
        spans.trained(32)
        spans.trained(10)
        spans.score = 0.5
        stats.bytes_sent, stats.bytes_received = 100, 200
        assert process["examples_total"] == 42
        assert process["minibatches_total"] == 2
        assert process["sent_bytes_total"] == 100
        assert process["received_bytes_total"] == 200
        assert process["members"] == 1
        assert process["score"] == 0.5


def test_an_activity_that_goes_on_counts_up_to_now(process):
    spans = process.spans()
    with process.metrics.counting(spans, TopicStats), spans.recorder.wait:
        process.clock.now = 30.0
        assert process.seconds("wait") == 30.0
        assert process.seconds("compute") == 0.0
        # A report in between neither adds nor takes away.
        spans.values()
        assert process.seconds("wait") == 30.0


def test_counters_go_on_behind_a_fit_and_gauges_do_not(process):
    spans = process.spans()
    with process.metrics.counting(spans, TopicStats):
        spans.trained(32)
        spans.score = 0.5
        spans.epochs += 1
    assert process["examples_total"] == 32
    assert process["epochs_total"] == 1
    assert process["members"] == 0
    assert process["score"] is None


def test_counters_add_up_over_fits_and_members(process):
    first, second, third = (process.spans() for _ in range(3))
    with process.metrics.counting(first, TopicStats):
        first.trained(1)
        with process.metrics.counting(second, TopicStats):
            second.trained(20)
            assert process["members"] == 2
            assert process["examples_total"] == 21
    with process.metrics.counting(third, TopicStats):
        third.trained(300)
        assert process["examples_total"] == 321


def test_of_two_fits_the_score_of_the_later_one_is_told(process):
    first, second = process.spans(), process.spans()
    first.score = 1.0
    with (
        process.metrics.counting(first, TopicStats),
        process.metrics.counting(second, TopicStats),
    ):
        assert process["score"] == 1.0
        second.score = 2.0
        assert process["score"] == 2.0


def test_a_member_that_fails_is_counted_out(process):
    spans = process.spans()

    def fail():
        with process.metrics.counting(spans, TopicStats):
            spans.trained(32)
            _ = 1 / 0

    with pytest.raises(ZeroDivisionError):
        fail()
    assert process["members"] == 0
    assert process["examples_total"] == 32


def test_counters_never_fall_where_a_span_is_about_to_be_added(process):
    """Who asks amid a turn to another activity sees the sum without the span."""
    spans = process.spans()
    with process.metrics.counting(spans, TopicStats):
        spans.recorder.turn_to("compute")
        process.clock.now = 5.0
        assert process.seconds("compute") == 5.0
        # The first half of a turn.
        spans.recorder._going = ("read", 5.0)
        assert process.seconds("compute") == 5.0
        spans.recorder.totals["compute"] += 5.0
        assert process.seconds("compute") == 5.0


class Turned(dict):
    """Totals whose recorder turns to something else while somebody copies them."""

    turns = 0

    # A dict that iterates as all do is copied without a look at its keys.
    def __iter__(self):
        return super().__iter__()

    def keys(self):
        if self.turns < 3:
            self.turns += 1
            self.recorder.turn_to("read" if self.turns % 2 else "compute")
        return super().keys()


def test_who_asks_amid_a_turn_finds_no_more_seconds_than_there_were():
    clock = Clock()
    recorder = SpanRecorder(clock)
    recorder.totals = totals = Turned(recorder.totals)
    totals.recorder = recorder
    recorder.turn_to("compute")
    clock.now = 2.0
    assert sum(recorder.seconds_so_far().values()) == 2.0
    assert totals.turns == 3


def test_it_is_registered_once(process):
    process.metrics.register(process.registry)
    assert process["examples_total"] == 0


def test_names_are_those_of_prometheus(process):
    text = client.generate_latest(process.registry).decode()
    types = dict(
        line.split()[2:] for line in text.splitlines() if line.startswith("# TYPE")
    )
    assert types == {
        "daskdl_examples_total": "counter",
        "daskdl_minibatches_total": "counter",
        "daskdl_epochs_total": "counter",
        "daskdl_sent_bytes_total": "counter",
        "daskdl_received_bytes_total": "counter",
        "daskdl_activity_seconds_total": "counter",
        "daskdl_members": "gauge",
        "daskdl_score": "gauge",
    }


def test_without_the_package_nothing_is_counted(monkeypatch):
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    monkeypatch.setattr(prometheus, "_PROCESS", None)
    with scraped(None, None):
        pass


def test_the_package_is_not_imported_before_a_member_begins():
    code = (
        "import sys, daskdl, daskdl.cluster.session\n"
        "print('prometheus_client' in sys.modules)"
    )
    told = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert told.stdout.strip() == "False"
