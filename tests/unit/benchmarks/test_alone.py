"""Starts and memory, with processes that only pretend."""

import os
from contextlib import contextmanager

import pytest

from benchmarks import alone
from benchmarks.child import PeerError
from benchmarks.report import Report
from benchmarks.rounds import Pace
from benchmarks.serve.shapes import NETS

SECONDS_OF_CPU = {"daskdl": 4.0, "torch": 8.0}


class Pretended:
    """Its first step takes 3 s, others 1 s; it held 100 MiB before."""

    def __init__(self, peer, environ):
        self.peer, self.pid, self.environ = peer, peer, environ
        offers = [[net, "fit", ""] for net in NETS]
        self.greeting = {"versions": {"number": "1"}, "offers": offers}
        self.steps = iter([3000.0, 1000.0])

    def ask(self, line, timeout_s):
        return {"cpu_ms": next(self.steps), "wall_ms": 0.0, "held_mib": 100.0}


@pytest.fixture
def started(monkeypatch):
    children = []

    @contextmanager
    def start(peer, setting, environ):
        if peer not in SECONDS_OF_CPU:
            raise PeerError("is not there")
        children.append(Pretended(peer, environ))
        yield children[-1]

    monkeypatch.setattr(alone, "start", start)
    monkeypatch.setattr(alone, "process_s", SECONDS_OF_CPU.get)
    monkeypatch.setattr(alone, "peak_mib", {"daskdl": 200.0, "torch": 500.0}.get)
    return children


@pytest.fixture
def report():
    return Report("", ["torch", "jax"], 1, "cpu", Pace(1, 0.1, 0.1))


def test_a_delay_is_the_first_step_less_the_second(started, report):
    rows = {row.what: row for row in alone.Alone(report, None).start_rows()}
    assert rows["lenet cold, delay"].ours.median == 2.0
    assert rows["lenet warm, delay"].goal == 0.3


def test_a_start_is_compared_from_the_beginning_of_the_process(started, report):
    *_, row = alone.Alone(report, None).start_rows()
    (against_torch,) = row.ratios
    assert against_torch.ratio.median == 0.5


def test_both_starts_have_one_cache_that_was_empty(started, report):
    list(alone.Alone(report, None).start_rows())
    cold, warm, torch = (child.environ.get("XDG_CACHE_HOME") for child in started[:3])
    assert cold == warm
    assert not os.path.exists(cold)
    assert torch == os.environ.get("XDG_CACHE_HOME")


def test_each_network_starts_with_a_cache_of_its_own(started, report):
    list(alone.Alone(report, None).start_rows())
    caches = [child.environ.get("XDG_CACHE_HOME") for child in started]
    assert caches[0] != caches[3]


def test_memory_is_what_comes_on_top(started, report):
    row, *_ = alone.Alone(report, None).memory_rows(0.1)
    assert row.ours.median == 100.0


def test_memory_is_compared_for_each_network(started, report):
    rows = list(alone.Alone(report, None).memory_rows(0.1))
    assert [row.what for row in rows] == list(NETS)
    assert rows[0].ratios[0].ratio.median == 0.25


def test_a_peer_that_does_not_start_is_told_once(started, report):
    list(alone.Alone(report, None).memory_rows(0.1))
    assert [(failure.peer, failure.case) for failure in report.failures] == [
        ("jax", "")
    ]
