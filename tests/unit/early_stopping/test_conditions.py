"""Termination conditions by themselves."""

import math
import time

import pytest

import daskdl as dl
from daskdl.errors import OptionError
from daskdl.nn.early_stopping.conditions import conditions_of

NAN, INF = math.nan, math.inf


def ended_at(condition, scores, *, minimize=True):
    """Return the epoch that ends training, None if none does."""
    condition.initialize()
    for epoch, score in enumerate(scores, start=1):
        if condition.terminate(epoch, score, minimize=minimize):
            return epoch
    return None


@pytest.mark.parametrize("max_epochs", [1, 3])
def test_epochs_are_counted_from_one(max_epochs):
    condition = dl.MaxEpochsTerminationCondition(max_epochs)
    assert ended_at(condition, [0.5] * 5) == max_epochs


@pytest.mark.parametrize(
    ("scores", "minimize", "epoch"),
    [
        ([0.5, 0.2, 0.19], True, 3),
        ([0.1, 0.2, 0.21], False, 3),
        ([NAN, INF, 0.3], True, None),
        ([NAN, -INF, 0.1], False, None),
    ],
)
def test_a_score_that_is_good_enough_ends_training(scores, minimize, epoch):
    condition = dl.BestScoreEpochTerminationCondition(0.2)
    assert ended_at(condition, scores, minimize=minimize) == epoch


@pytest.mark.parametrize(
    ("patience", "least", "scores", "minimize", "epoch"),
    [
        (2, 0.0, [5, 4, 3, 3, 3, 3], True, 5),
        (2, 0.0, [5, 4, 6, 3, 6, 6], True, 6),
        (2, 0.0, [1, 2, 3, 3, 3, 3], False, 5),
        (2, 0.5, [5, 4.6, 4.4, 4.3, 4.2], True, 5),
        (1, 0.0, [5, 5], True, 2),
        (0, 0.0, [5, 5], True, 2),
        (2, 0.0, [NAN, NAN, NAN], True, 3),
        (2, 0.0, [NAN, 5, NAN, NAN], True, 4),
        (3, 0.0, [INF, 5, 4, 3, 2], True, None),
    ],
)
def test_epochs_without_improvement_end_training(
    patience, least, scores, minimize, epoch
):
    condition = dl.ScoreImprovementEpochTerminationCondition(patience, least)
    assert ended_at(condition, scores, minimize=minimize) == epoch


def test_epochs_between_two_scores_count():
    condition = dl.ScoreImprovementEpochTerminationCondition(4)
    asked = [condition.terminate(epoch, 1.0, minimize=True) for epoch in (5, 8, 10)]
    assert asked == [False, False, True]


def test_a_condition_forgets_an_earlier_fit():
    condition = dl.ScoreImprovementEpochTerminationCondition(2)
    assert ended_at(condition, [1, 2, 2]) == 3
    assert ended_at(condition, [5, 6, 6]) == 3


def test_a_condition_goes_on_with_what_it_remembered():
    first = dl.ScoreImprovementEpochTerminationCondition(2)
    ended_at(first, [1, 2])
    second = dl.ScoreImprovementEpochTerminationCondition(2)
    second.restore_state(first.kept_state())
    assert second.terminate(3, 2, minimize=True)


def test_time_that_has_passed_counts_in_a_run_that_goes_on(monkeypatch):
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    first = dl.MaxTimeIterationTerminationCondition(10)
    now = 106.0
    assert not first.terminate(0.5)
    kept = first.kept_state()
    now = 1000.0
    second = dl.MaxTimeIterationTerminationCondition(10)
    second.restore_state(kept)
    now = 1003.5
    assert not second.terminate(0.5)
    now = 1004.0
    assert second.terminate(0.5)
    second.initialize()
    assert not second.terminate(0.5)


@pytest.mark.parametrize(
    ("given", "seconds"),
    [
        ((3,), 3),
        ((3, "SECONDS"), 3),
        ((2, "minutes"), 120),
        ((5, "MILLISECONDS"), 5e-3),
    ],
)
def test_time_is_told_in_any_unit_of_java(given, seconds):
    assert dl.MaxTimeIterationTerminationCondition(*given).max_time_s == seconds


@pytest.mark.parametrize(
    ("score", "is_over", "is_invalid"),
    [(2.0, False, False), (2.1, True, False), (NAN, True, True), (INF, True, True)],
)
def test_a_score_of_minibatches_ends_training(score, is_over, is_invalid):
    assert dl.MaxScoreIterationTerminationCondition(2).terminate(score) == is_over
    invalid = dl.InvalidScoreIterationTerminationCondition()
    assert invalid.terminate(score) == is_invalid


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: dl.MaxEpochsTerminationCondition(0), "max_epochs must be a whole"),
        (lambda: dl.MaxTimeIterationTerminationCondition(0), "max_time must be > 0"),
        (
            lambda: dl.MaxTimeIterationTerminationCondition(1, "weeks"),
            "time_unit must be one of .*'minutes'.*, got 'weeks'",
        ),
        (lambda: dl.MaxScoreIterationTerminationCondition(NAN), "max_score must be"),
        (
            lambda: dl.BestScoreEpochTerminationCondition("low"),
            "best_expected_score must be >=",
        ),
        (
            lambda: dl.ScoreImprovementEpochTerminationCondition(-1),
            "max_epochs_with_no_improvement must be a whole number >= 0",
        ),
        (
            lambda: dl.ScoreImprovementEpochTerminationCondition(1, -0.1),
            "min_improvement must be >= 0",
        ),
    ],
)
def test_options_are_refused(make, text):
    with pytest.raises(OptionError, match=text):
        make()


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (3, "got int"),
        (["loss"], "got str"),
        (dl.MaxEpochsTerminationCondition, r"Make one: MaxEpochs\w+\(\.\.\.\)"),
        ([dl.MaxEpochsTerminationCondition(2)] * 2, "got one twice"),
    ],
)
def test_what_is_no_condition_is_refused(given, text):
    with pytest.raises(OptionError, match=text):
        conditions_of("EarlyStopping", given)
