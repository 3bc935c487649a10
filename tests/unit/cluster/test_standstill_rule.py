"""When a fit stands still within an epoch on its own."""

import math

import pytest

from daskdl.cluster.standstill_rule import (
    CALM_S,
    CALM_SHARE,
    LEAST_S,
    TOGETHER_S,
    StandstillRule,
)
from daskdl.cluster.usual_cost import UsualCost

COST_S = 1.0
JUST = 1e-6


def due_after_s(rule, from_s):
    """Return how long after `from_s` the network is due, to a hundredth."""
    return next(n for n in range(10**5) if rule.is_due(from_s + n / 100)) / 100


def rule_that_stood(cost_s, at_s=0.0):
    rule = StandstillRule(0.0)
    for _ in range(2):
        rule.stood(at_s - cost_s)
        rule.trained(at_s)
    rule.brought(at_s)
    return rule


def test_while_nobody_goes_it_is_seldom():
    rule = StandstillRule(0.0)
    assert [rule.is_due(CALM_S - JUST), rule.is_due(CALM_S)] == [False, True]


def test_while_nobody_goes_it_costs_a_small_share():
    cost_s = 3 * CALM_S * CALM_SHARE
    assert due_after_s(rule_that_stood(cost_s), 0.0) == pytest.approx(3 * CALM_S)


@pytest.mark.parametrize("lost_s", [TOGETHER_S / 2, TOGETHER_S + 1])
def test_the_first_one_after_a_loss_comes_soon(lost_s):
    rule = StandstillRule(0.0)
    rule.lost(lost_s)
    assert due_after_s(rule, 0.0) == LEAST_S


def test_one_that_took_long_alone_does_not_put_off_the_next():
    """Others were starting beside it."""
    rule = StandstillRule(0.0)
    rule.lost(40.0)
    rule.stood(44.0)
    rule.trained(50.0)
    rule.brought(50.0)
    assert due_after_s(rule, 50.0) == LEAST_S


def test_one_that_took_long_among_others_counts_for_nothing():
    usual, once = rule_that_stood(COST_S, 100.0), rule_that_stood(COST_S, 100.0)
    once.stood(100.0 - 50 * COST_S)
    for rule in (usual, once):
        rule.trained(100.0)
        rule.lost(100.0)
    assert due_after_s(once, 100.0) == due_after_s(usual, 100.0)


def test_at_the_end_of_an_epoch_it_pays_only_once_somebody_went():
    rule, free = StandstillRule(0.0), UsualCost()
    assert not rule.pays_at_end(1000.0, free)
    rule.lost(1000.0)
    assert rule.pays_at_end(1000.0, free)


def test_at_the_end_of_an_epoch_it_pays_by_what_a_snapshot_alone_costs():
    """Members stand anyway."""
    rule, cost = rule_that_stood(100 * COST_S), UsualCost()
    rule.lost(40.0)
    cost.timed(0.1 * COST_S)
    cost.timed(0.1 * COST_S)
    limit_s = math.sqrt(2 * 0.1 * COST_S * 40.0)
    rule.brought(40.0 - limit_s + JUST)
    assert not rule.pays_at_end(40.0, cost)
    rule.brought(40.0 - limit_s - JUST)
    assert rule.pays_at_end(40.0, cost)


@pytest.mark.parametrize("between_s", [50.0, 200.0, 800.0])
def test_after_losses_it_is_what_young_found(between_s):
    at_s = 3 * between_s
    rule = rule_that_stood(COST_S, at_s)
    for number in range(3):
        rule.lost((number + 1) * between_s)
    found_s = due_after_s(rule, at_s)
    # It grows while nobody goes.
    expected_s = math.sqrt(2 * COST_S * (at_s + found_s) / 3)
    assert found_s == pytest.approx(expected_s, abs=0.02)


def test_workers_that_go_together_are_one_loss():
    one, many = rule_that_stood(COST_S, 100.0), rule_that_stood(COST_S, 100.0)
    one.lost(100.0)
    for number in range(8):
        many.lost(100.0 + number * TOGETHER_S / 8)
    assert due_after_s(one, 100.0) == due_after_s(many, 100.0)


def test_losses_of_long_ago_are_forgotten():
    """A pool that was calm for a day and then is taken away every 20 s."""
    day_s = 86_400.0
    rule = rule_that_stood(COST_S, day_s + 100)
    for number in range(4):
        rule.lost(day_s + 20 * number)
    assert due_after_s(rule, day_s + 100) < 10


def test_members_that_lose_nothing_any_more_stand_still_as_before():
    rule = rule_that_stood(COST_S, 10**6)
    rule.lost(10.0)
    assert due_after_s(rule, 10**6) == CALM_S


def test_whoever_begins_anew_stands_still_soon_whatever_it_costs():
    rule = rule_that_stood(100 * COST_S, 500.0)
    rule.lost(500.0)
    rule.went_back(520.0)
    assert due_after_s(rule, 520.0) == LEAST_S


def test_a_standstill_ends_with_the_first_minibatch_behind_it():
    rule = rule_that_stood(2 * CALM_S * CALM_SHARE)
    rule.trained(50.0)
    assert due_after_s(rule, 0.0) == pytest.approx(2 * CALM_S)
