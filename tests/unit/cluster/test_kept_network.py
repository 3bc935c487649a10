"""When a snapshot is worth its time, and how often a fit goes back to one."""

import pytest

from daskdl.cluster import kept_network
from daskdl.cluster.kept_network import (
    MOST_FULL_RETURNS,
    MOST_RETURNS,
    MOST_VAIN_RETURNS,
    KeptNetwork,
    Standing,
)
from daskdl.nn.fitting.run_state import RunPosition

BEGINNING = Standing(RunPosition())


class Clock:
    now = 0.0

    def monotonic(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(kept_network, "time", made)
    return made


@pytest.mark.parametrize(("passed_s", "is_due"), [(49.0, False), (51.0, True)])
def test_a_snapshot_costs_a_fiftieth_of_the_time(clock, passed_s, is_due):
    kept = KeptNetwork(None, BEGINNING)
    kept.keep(None, BEGINNING, 8, cost_s=1.0)
    clock.now += passed_s
    assert kept.is_due() is is_due


@pytest.mark.parametrize("place", [0, 1, 2])
def test_one_snapshot_that_took_long_does_not_put_off_the_next(clock, place):
    kept = KeptNetwork(None, BEGINNING)
    costs_s = [0.1, 0.1, 0.1]
    costs_s[place] = 10.0
    for cost_s in costs_s:
        kept.keep(None, BEGINNING, 8, cost_s=cost_s)
    clock.now += 6.0
    assert kept.is_due()


def test_the_first_snapshot_is_due_at_once(clock):
    assert KeptNetwork(None, BEGINNING).is_due()


def test_after_a_return_the_next_snapshot_is_due_at_once(clock):
    kept = KeptNetwork(None, BEGINNING)
    kept.keep(None, BEGINNING, 8, cost_s=1.0)
    kept.go_back()
    assert kept.is_due()


@pytest.mark.parametrize(
    ("is_memory_full", "most"), [(False, MOST_RETURNS), (True, MOST_FULL_RETURNS)]
)
def test_a_fit_returns_to_one_network_so_many_times_only(clock, is_memory_full, most):
    kept = KeptNetwork(None, BEGINNING)
    returns = [kept.go_back(is_memory_full=is_memory_full) for _ in range(most + 1)]
    assert returns == [True] * most + [False]
    kept.keep(None, BEGINNING, 8, cost_s=1.0)
    assert kept.go_back(is_memory_full=is_memory_full)


def test_it_returns_seldom_where_memory_ends_all_before_they_train(clock):
    kept = KeptNetwork(None, BEGINNING)
    in_vain = {"is_memory_full": True, "has_trained": False}
    returns = [kept.go_back(**in_vain) for _ in range(MOST_VAIN_RETURNS + 1)]
    assert returns == [True] * MOST_VAIN_RETURNS + [False]
    assert kept.is_in_vain


@pytest.mark.parametrize(
    "between",
    [
        {"is_memory_full": True, "has_trained": True},
        {"is_memory_full": False, "has_trained": False},
    ],
    ids=["a minibatch was trained", "others ended them"],
)
def test_deaths_for_memory_count_only_in_a_row(clock, between):
    """A worker that is ended for its memory now and then does not end a fit."""
    kept = KeptNetwork(None, BEGINNING)
    in_vain = [{"is_memory_full": True, "has_trained": False}] * MOST_VAIN_RETURNS
    for how in [*in_vain, between, *in_vain]:
        assert kept.go_back(**how)
    assert not kept.is_for_memory


def test_deaths_for_memory_count_anew_for_a_network_that_was_kept(clock):
    kept = KeptNetwork(None, BEGINNING)
    for _ in range(5):
        for _ in range(MOST_VAIN_RETURNS):
            assert kept.go_back(is_memory_full=True, has_trained=False)
        kept.keep(None, BEGINNING, 8, cost_s=1.0)
