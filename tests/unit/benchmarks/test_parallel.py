"""What is asked of a network on one machine, and what is made of it."""

import numpy as np
import pytest

from benchmarks.parallel import asking
from benchmarks.parallel.asking import asked, lost_in_swaps
from benchmarks.parallel.command import Figure
from tests.unit.networks.small import mlp

ROWS = np.arange(12.0).reshape(3, 4)


class Clock:
    """Stands in for ``time``: only what sleeps, of one thread, takes any."""

    def __init__(self):
        self.now_s = 0.0

    def perf_counter(self):
        return self.now_s

    def sleep(self, seconds):
        self.now_s += seconds


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(asking, "time", clock)
    return clock


def test_each_thread_asks_its_row_as_often_as_it_is_told():
    rows = []
    waits_s = asked(rows.append, ROWS, 0.1, per_s=60)
    assert [len(waits) for waits in waits_s] == [2, 2, 2]
    assert sorted(float(row[0, 0]) for row in rows) == [0, 0, 4, 4, 8, 8]


@pytest.mark.parametrize("began_s", [0.0, 1e3 / 3, 1e5 / 3, 1e7 / 3])
def test_it_asks_as_often_whenever_it_begins(clock, began_s):
    clock.now_s = began_s
    assert len(asked(lambda row: None, ROWS[:1], 0.1, per_s=60)[0]) == 6


def test_who_is_late_waits_longer(clock):
    waits_s = asked(lambda row: clock.sleep(0.03), ROWS[:1], 0.05, per_s=100)[0]
    assert waits_s == pytest.approx([0.03, 0.05, 0.07, 0.09, 0.11])


def test_without_a_rate_threads_ask_at_once(clock):
    waits_s = asked(lambda row: clock.sleep(0.01), ROWS[:1], 0.045)[0]
    assert waits_s == pytest.approx([0.01] * 5)


def test_no_answer_is_lost_and_a_wrong_one_is_counted(monkeypatch):
    networks = [mlp(), mlp(seed=2)]
    assert lost_in_swaps(networks, ROWS) == 0
    network = networks[1]
    monkeypatch.setattr(network, "output", lambda rows: np.full((3, 3), 9.0))
    assert lost_in_swaps([network, networks[1]], ROWS) > 0


@pytest.mark.parametrize(
    ("goal", "verdict"),
    [
        ({}, ""),
        ({"least": 2}, "reached: >= 2"),
        ({"least": 3}, "missed: >= 3"),
        ({"most": 2}, "reached: <= 2"),
        ({"most": 1}, "missed: <= 1"),
    ],
)
def test_a_figure_is_held_against_its_goal(goal, verdict):
    figure = Figure("times as many", [1, 2, 4], "", **goal)
    assert figure.cells() == ("times as many", "2", "1 - 4", verdict)
