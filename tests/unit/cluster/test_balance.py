"""When work is moved, and how much: so that members end together."""

import pytest

from daskdl.cluster.balance import Balance, Move


def run(balance, rates, until_s, start_s=0.0):
    """Let members report every quarter of a second, up to their totals."""
    totals = {rank: pace.total for rank, pace in balance._paces.items()}
    steps = int((until_s - start_s) * 4)
    for step in range(steps + 1):
        now = start_s + step / 4
        for rank, rate in rates.items():
            done = min(int(now * rate), totals[rank])
            balance.trained(rank, done, now, is_idle=done == totals[rank])
    return until_s


def test_equal_members_keep_what_they_have():
    balance = Balance({0: 100, 1: 100})
    now = run(balance, {0: 20, 1: 20}, 4.75)
    assert balance.next_move(now) is None


def test_nothing_is_moved_while_everybody_has_enough_to_do():
    balance = Balance({0: 100, 1: 100})
    now = run(balance, {0: 20, 1: 5}, 3.0)
    assert balance.next_move(now) is None


def test_who_is_about_to_have_nothing_left_gets_what_lets_both_end_together():
    balance = Balance({0: 100, 1: 100})
    now = run(balance, {0: 20, 1: 5}, 4.75)
    move = balance.next_move(now)
    assert (move.source, move.target) == (1, 0)
    left = {0: (100 - 95 + move.count) / 20, 1: (100 - 23 - move.count) / 5}
    assert left[0] == pytest.approx(left[1], abs=0.3)


def test_a_member_that_had_nothing_gets_half_before_speeds_are_known():
    balance = Balance({0: 0, 1: 9})
    assert balance.next_move(0.0) == Move(1, 0, 4)


def test_a_minibatch_that_is_being_trained_stays_where_it_is():
    balance = Balance({0: 1, 1: 1})
    balance.trained(0, 1, 5.0, is_idle=True)
    assert balance.next_move(5.0) is None


def test_a_move_that_brought_nothing_is_not_tried_again():
    balance = Balance({0: 4, 1: 40})
    balance.trained(0, 4, 1.0, is_idle=True)
    assert balance.next_move(1.0) is not None
    balance.settle(1, 40, begun=40)
    assert balance.next_move(1.0) is None
    assert balance.is_settled(1.0)


def test_a_report_that_was_on_its_way_when_more_came_is_no_idleness():
    balance = Balance({0: 4, 1: 40})
    balance.settle(0, 20)
    balance.trained(0, 4, 1.0, is_idle=True)
    assert not balance.is_settled(1.0)


def test_members_that_end_soon_are_settled():
    balance = Balance({0: 100, 1: 100})
    assert not balance.is_settled(run(balance, {0: 20, 1: 20}, 2.0))
    assert balance.is_settled(run(balance, {0: 20, 1: 20}, 4.75, 2.0))


def test_a_member_that_is_gone_is_nobody_to_wait_for():
    balance = Balance({0: 100, 1: 100})
    now = run(balance, {0: 20, 1: 1}, 5.0)
    balance.lost(1)
    assert balance.is_settled(now)
    assert balance.next_move(now) is None


def test_a_phase_that_lasts_a_moment_is_known_to_be_short():
    assert Balance({0: 10, 1: 10}, {0: 100.0, 1: 100.0}).is_short
    assert not Balance({0: 10, 1: 10}, {0: 100.0, 1: 10.0}).is_short
    assert not Balance({0: 10, 1: 10}).is_short


def test_speed_is_that_of_the_last_seconds():
    balance = Balance({0: 1000})
    run(balance, {0: 100}, 3.0)
    for step in range(1, 21):
        balance.trained(0, 300 + 2 * step, 3.0 + step / 4)
    assert balance.rates[0] == pytest.approx(8, rel=0.1)
