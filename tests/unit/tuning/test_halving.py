"""Which trials go on, which is the best, and what their files hold."""

import json
import math

import pytest

from daskdl.errors import FormatError, OptionError
from daskdl.tuning import SuccessiveHalving, Trial, TrialState
from daskdl.tuning.ranking import ranked


def trial(number, *scores, state=TrialState.WAITING, **values):
    """Return a trial that has these scores, by epoch."""
    known = [one for one in scores if not math.isnan(one)]
    return Trial(
        number,
        {},
        state=state,
        score=max(known, default=math.nan),
        scores=dict(enumerate(scores, 1)),
        epochs=len(scores),
        **values,
    )


def going_on(trials, epochs=1, factor=2, **how):
    halving = SuccessiveHalving(reduction_factor=factor)
    how = {"minimize": False, **how}
    return [one.number for one in halving.survivors(trials, epochs, **how)]


def test_epochs_grow_by_the_factor():
    halving = SuccessiveHalving(min_epochs=2, reduction_factor=3)
    assert halving.rungs(54) == [2, 6, 18, 54]
    assert halving.rungs(20) == [2, 6, 18, 20]
    assert halving.rungs(3) == [2, 3]


def test_the_best_of_each_so_many_go_on():
    trials = [trial(n, score) for n, score in enumerate((0.3, 0.9, 0.1, 0.8, 0.7), 1)]
    assert going_on(trials) == [2, 4]
    assert going_on(trials, factor=3) == [2]
    assert going_on(trials, factor=9) == [2]
    assert going_on(trials, minimize=True) == [1, 3]


def test_of_equal_trials_the_first_goes_on():
    assert going_on([trial(2, 0.5), trial(1, 0.5)]) == [1]


def test_a_trial_is_worth_its_best_score():
    assert going_on([trial(1, 0.9, 0.1), trial(2, 0.5, 0.6)], 2) == [1]


def test_what_came_later_decides_nothing():
    """As when a search is resumed whose survivors were trained further."""
    trials = [trial(1, 0.5, 0.9), trial(2, 0.6), trial(3, 0.55, 0.56, 0.57)]
    assert going_on(trials, factor=3) == [2]


def test_trials_without_a_score_never_go_on():
    lost = trial(1, state=TrialState.DIVERGED)
    nothing = trial(2, math.nan)
    assert going_on([lost, nothing, trial(3, 0.1), trial(4)], factor=1 + 1) == [3]
    assert going_on([lost, nothing]) == []


def test_who_diverged_later_went_on_before():
    lost = trial(1, 0.9, state=TrialState.DIVERGED)
    trials = [lost, trial(2, 0.5, 0.5, 0.5)]
    assert going_on(trials, 1) == [1]
    assert going_on(trials, 3) == [2]


def test_who_was_ended_by_a_condition_stays_in_the_race():
    ended = trial(1, 0.9, is_ended=True)
    assert going_on([ended, trial(2, 0.8, 0.8, 0.8)], 3) == [1]


def test_the_best_is_first_and_the_lost_are_last():
    trials = [
        trial(1, 0.9, state=TrialState.DIVERGED),
        trial(2, 0.5),
        trial(3, 0.7),
        trial(4, 0.7, 0.7),
        trial(5, math.nan),
        trial(6, 0.8, state=TrialState.STOPPED),
    ]
    found = [one.number for one in ranked(trials, minimize=False)]
    assert found == [6, 4, 3, 2, 1, 5]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_epochs": 0}, "min_epochs must be a whole number > 0, got 0"),
        ({"reduction_factor": 1}, "reduction_factor must be at least 2, got 1"),
    ],
)
def test_what_halves_nothing_is_refused(options, message):
    with pytest.raises(OptionError, match=f"SuccessiveHalving: {message}"):
        SuccessiveHalving(**options)


def test_fewer_epochs_than_the_first_rung_are_refused():
    message = "min_epochs must be less than the epochs of a whole trial, 3, got 3"
    with pytest.raises(OptionError, match=message):
        SuccessiveHalving(min_epochs=3).rungs(3)


@pytest.mark.parametrize("scores", [(), (0.5, math.nan, math.inf, -math.inf)])
def test_a_trial_comes_back_out_of_its_file(scores):
    kept = trial(
        7, *scores, state=TrialState.FAILED, failures=["a", "b"], lost_examples=3
    )
    text = json.dumps(kept.to_dict(), allow_nan=False)
    again = Trial.from_dict(json.loads(text))
    assert repr(again) == repr(kept)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 2}, "version must be at most 1, got 2. A newer file"),
        ({"state": "gone"}, "must be those of a trial"),
        ({"scores": 3}, "must be those of a trial"),
    ],
)
def test_what_is_no_trial_is_refused(change, message):
    with pytest.raises(FormatError, match=message):
        Trial.from_dict({**trial(1).to_dict(), **change})


def test_a_file_that_lacks_something_is_refused():
    values = trial(1).to_dict()
    del values["parameters"]
    with pytest.raises(FormatError, match="KeyError"):
        Trial.from_dict(values)
