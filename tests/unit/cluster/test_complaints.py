"""Who must go when members do not hear each other."""

import pytest

from daskdl.cluster.complaints import LEAST_AGE_S, Complaint, Complaints

PATIENCE_S = 10.0


def verdict(members, *complaints, now_s=LEAST_AGE_S):
    """Return who must go after complaints of ``(rank, silent, stage)``, all at once."""
    judge = Complaints(PATIENCE_S)
    for rank, silent, *stage in complaints:
        judge.take(rank, Complaint(frozenset(silent), tuple(stage)), 0.0)
    return judge.verdict(members, now_s)


@pytest.mark.parametrize("silent", [0, 1, 2])
def test_the_one_whom_nobody_hears_goes(silent):
    others = {0, 1, 2} - {silent}
    assert verdict({0, 1, 2}, *((rank, {silent}, 0, 1) for rank in others)) == silent


@pytest.mark.parametrize("deaf", [0, 1, 2])
def test_the_one_that_hears_nobody_goes(deaf):
    others = {0, 1, 2} - {deaf}
    assert verdict({0, 1, 2}, (deaf, others, 0, 1), now_s=11.0) == deaf


def test_of_two_that_do_not_hear_each_other_the_higher_rank_goes():
    assert verdict({0, 1}, (0, {1}, 0, 1), (1, {0}, 0, 1)) == 1


@pytest.mark.parametrize("pair", [(0, 1), (0, 2), (1, 2)])
def test_who_waits_for_those_at_odds_is_not_taken_for_one_of_them(pair):
    """The third one has heard both, and waits for them in the next round."""
    (third,) = {0, 1, 2} - {*pair}
    at_odds = [(one, {other}, 0, 1) for one, other in (pair, pair[::-1])]
    assert verdict({0, 1, 2}, *at_odds, (third, {*pair}, 0, 2)) == max(pair)


def test_the_first_complaint_is_not_judged_alone():
    """Rank 1 may complain of 0 as well in a moment; or of 2."""
    assert verdict({0, 1, 2}, (2, {0}, 0, 1), now_s=9.0) is None


def test_who_complains_late_is_not_waited_for_for_ever():
    assert verdict({0, 1, 2}, (2, {0}, 0, 1), now_s=11.0) == 2


def test_complaints_of_whoever_went_since_are_void():
    assert verdict({0, 1}, (0, {2}, 0, 1), (1, {2}, 0, 1), now_s=11.0) is None


def test_complaints_are_judged_once():
    judge = Complaints(PATIENCE_S)
    judge.take(0, Complaint(frozenset({1}), (0,)), 0.0)
    assert judge.verdict({0, 1}, 11.0) == 1
    assert judge.verdict({0, 1}, 12.0) is None


def test_a_complaint_that_is_taken_back_does_not_count():
    judge = Complaints(PATIENCE_S)
    judge.take(0, Complaint(frozenset({1}), (0,)), 0.0)
    judge.take(0, Complaint(frozenset(), (0,)), 0.5)
    assert judge.verdict({0, 1}, 11.0) is None


def test_a_complaint_may_be_taken_back_for_a_moment():
    assert verdict({0, 1}, (0, {1}, 0), (1, {0}, 0), now_s=0.9) is None
