"""The ledger of a phase: nothing is skipped, repetitions are counted."""

import pytest

from daskdl.cluster.membership import PhaseLedger, deal_again, deal_leftover
from daskdl.data.plan import plan_minibatches


@pytest.fixture
def shares():
    minibatches = plan_minibatches([64], 8)
    return {0: minibatches[:4], 1: minibatches[4:]}


def test_a_phase_waits_for_every_member(shares):
    assert PhaseLedger(shares).waiting_for == {0, 1}


def test_a_phase_does_not_wait_for_a_lost_member(shares):
    ledger = PhaseLedger(shares)
    ledger.lost(1)
    assert ledger.waiting_for == {0}


def test_a_healthy_phase_leaves_nothing(shares):
    ledger = PhaseLedger(shares)
    ledger.finished(0, {1: 4})
    ledger.finished(1, {0: 4})
    assert ledger.lost_members() == []


def test_a_healthy_phase_counts_every_example_once(shares):
    ledger = PhaseLedger(shares)
    ledger.finished(0, {1: 4})
    ledger.finished(1, {0: 4})
    assert ledger.trained_examples == 64


def test_what_no_survivor_holds_is_dealt_again(shares):
    ledger = PhaseLedger(shares)
    ledger.lost(1)
    ledger.finished(0, {1: 1})
    (lost,) = ledger.lost_members()
    assert lost.unfinished == tuple(shares[1][1:])


def test_what_the_dead_member_trained_unseen_counts_as_repeated(shares):
    ledger = PhaseLedger(shares)
    ledger.progress(1, 3)
    ledger.lost(1)
    ledger.finished(0, {1: 1})
    assert ledger.lost_members()[0].repeated_examples == 16


def test_a_member_that_died_before_its_first_minibatch_repeats_nothing(shares):
    ledger = PhaseLedger(shares)
    ledger.lost(1)
    ledger.finished(0, {1: 0})
    assert ledger.lost_members()[0].repeated_examples == 0


def test_a_minibatch_counts_only_when_every_survivor_holds_it():
    minibatches = plan_minibatches([48], 8)
    shares = {0: minibatches[:2], 1: minibatches[2:4], 2: minibatches[4:]}
    ledger = PhaseLedger(shares)
    ledger.lost(2)
    ledger.finished(0, {1: 2, 2: 2})
    ledger.finished(1, {0: 2, 2: 1})
    assert ledger.lost_members()[0].unfinished == (minibatches[5],)


def test_what_a_survivor_holds_was_trained_though_its_trainer_never_said_so(shares):
    ledger = PhaseLedger(shares)
    ledger.progress(1, 1)
    ledger.lost(1)
    ledger.finished(0, {1: 3})
    assert ledger.trained_examples == 56


def test_reports_that_arrive_late_do_not_take_progress_back(shares):
    ledger = PhaseLedger(shares)
    ledger.progress(0, 3)
    ledger.progress(0, 2)
    assert ledger.trained_minibatches == 3


def test_unfinished_minibatches_go_to_survivors_in_turn(shares):
    ledger = PhaseLedger(shares)
    ledger.lost(1)
    ledger.finished(0, {1: 0})
    dealt = deal_again(ledger.lost_members(), [0, 5])
    assert dealt == {0: tuple(shares[1][::2]), 5: tuple(shares[1][1::2])}


def test_what_moves_is_trained_by_its_new_member(shares):
    ledger = PhaseLedger(shares)
    moved = ledger.take_back(0, 1)
    ledger.give(1, moved)
    assert ledger.totals == {0: 1, 1: 7}
    ledger.finished(0, {1: 7})
    ledger.finished(1, {0: 1})
    assert ledger.trained_examples == 64


def test_what_was_moved_to_a_member_that_dies_is_dealt_again(shares):
    ledger = PhaseLedger(shares)
    ledger.give(1, ledger.take_back(0, 1))
    ledger.lost(1)
    ledger.finished(0, {1: 2})
    assert ledger.lost_members()[0].unfinished == (*shares[1][2:], *shares[0][1:])


def test_a_rest_is_dealt_so_that_all_have_as_many():
    minibatches = plan_minibatches([80], 8)
    rest = {0: minibatches[:7], 1: minibatches[7:9], 2: minibatches[9:]}
    dealt = deal_leftover(rest, [0, 1, 5])
    assert sorted(len(share) for share in dealt.values()) == [3, 3, 4]
    assert sorted(m.index for s in dealt.values() for m in s) == list(range(10))


def test_members_keep_the_beginning_of_what_they_had():
    minibatches = plan_minibatches([80], 8)
    dealt = deal_leftover({0: minibatches[:5], 1: minibatches[5:]}, [0, 1, 2])
    assert dealt[0] == tuple(minibatches[:4])
    assert dealt[1] == tuple(minibatches[5:8])
