"""How long others are waited for that take the place of all."""

from types import SimpleNamespace

import pytest

from daskdl.cluster import replacements
from daskdl.cluster.replacements import (
    GATHER_S,
    MOST_IN_VAIN,
    await_replacements,
)
from daskdl.cluster.worker_wait import WorkerWait

TIMEOUT_S = 60.0


class Pool:
    """Workers that come and go at set times, a second for each look."""

    def __init__(self, able=(), present=()):
        self.now, self.asked = 0.0, []
        self._able, self._present = dict(able), dict(present)

    def monotonic(self):
        return self.now

    def sleep(self, _):
        self.now += 1.0

    def ask(self):
        self.asked.append(self.now)

    def able(self):
        return self._at(self._able)

    def present(self):
        return self._at(self._present)

    def _at(self, times):
        return [one for one, (come, go) in times.items() if come <= self.now < go]


@pytest.fixture
def wait(monkeypatch):
    """Wait for two in a pool; return who starts, and when."""

    def run(pool):
        monkeypatch.setattr(replacements, "time", pool)
        told = WorkerWait(SimpleNamespace(cluster="ours"), 2)
        there = await_replacements(
            pool.able, pool.present, pool.ask, told, 2, TIMEOUT_S
        )
        return there, pool.now

    return run


def test_those_that_come_together_start_together(wait):
    assert wait(Pool({"a": (3, 99), "b": (4, 99)})) == (["a", "b"], 4.0)


def test_one_that_comes_alone_starts_a_moment_later(wait):
    there, at_s = wait(Pool({"a": (3, 99)}))
    assert (there, at_s) == (["a"], 3.0 + GATHER_S + 1.0)


def test_workers_are_asked_for_until_one_comes(wait):
    pool = Pool({"a": (12, 99)})
    wait(pool)
    assert pool.asked == [0.0, 6.0]


def test_the_wait_ends_where_nobody_comes(wait):
    assert wait(Pool()) == ([], TIMEOUT_S + 1.0)


def test_the_wait_begins_anew_with_each_that_comes_and_goes(wait):
    """A worker dies every 40 s before it can take part, the fifth one does not."""
    present = {n: (40 * n, 40 * n + 2) for n in range(5)}
    assert wait(Pool({"e": (200, 999)}, present))[0] == ["e"]


def test_a_time_that_begins_anew_is_told_with_the_reason(wait, caplog):
    wait(Pool({"a": (70, 999)}, {"dies": (20, 21)}))
    waiting = "waiting for workers: 2 must be there, 0 are; "
    assert caplog.messages[0] == f"{waiting}60 s more at most"
    # At 18 s the next to last of the first 60 s, at 24 s behind the one that died.
    assert caplog.messages[3] == f"{waiting}42 s more at most"
    anew = "counted anew since one came"
    assert caplog.messages[4] == f"{waiting}56 s more at most, {anew}"


def test_workers_that_come_and_go_for_ever_end_the_wait(wait):
    present = {n: (n, n + 1) for n in range(10 * MOST_IN_VAIN)}
    there, at_s = wait(Pool({}, present))
    assert there == []
    assert at_s == pytest.approx(MOST_IN_VAIN + TIMEOUT_S, abs=2)
