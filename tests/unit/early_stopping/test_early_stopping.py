"""The listener in one process: when it evaluates and ends, what comes back."""

import math

import numpy as np
import pytest

import daskdl as dl
from daskdl.errors import DivergedError, OptionError, OutputError
from tests.unit.early_stopping.conftest import GivenScores

EPOCHS = dl.TerminationReason.EPOCH_TERMINATION_CONDITION
ITERATIONS = dl.TerminationReason.ITERATION_TERMINATION_CONDITION
STOPPED = dl.TerminationReason.STOPPED


def patience(epochs):
    return dl.ScoreImprovementEpochTerminationCondition(epochs)


def test_training_ends_and_the_best_network_comes_back(fit, network):
    result, _ = fit([5, 3, 4, 4, 1], patience(2))
    assert (result.termination_reason, result.total_epochs) == (EPOCHS, 4)
    assert result.termination_details == repr(patience(2))
    assert (result.best_model_epoch, result.best_model_score) == (2, 3)
    assert result.score_vs_epoch == {1: 5, 2: 3, 3: 4, 4: 4}
    assert (result.best_model.epoch_count, network.epoch_count) == (2, 4)
    assert result.best_model.iteration_count == result.best_model_iteration == 6


def test_a_higher_score_may_be_better(fit):
    result, _ = fit([1, 3, 2, 2, 5], patience(2), minimize=False)
    assert (result.best_model_epoch, result.total_epochs) == (2, 4)


def test_without_a_condition_the_epochs_of_the_fit_are_trained(fit):
    result, _ = fit([3, 1, 2], epochs=3)
    assert result.termination_reason is EPOCHS
    assert result.termination_details == "MaxEpochsTerminationCondition(3)"
    assert (result.best_model_epoch, result.total_epochs) == (2, 3)


def test_the_first_condition_that_holds_is_told(fit):
    conditions = [patience(9), dl.BestScoreEpochTerminationCondition(2)]
    result, _ = fit([3, 1, 2], *conditions)
    assert result.termination_details == "BestScoreEpochTerminationCondition(2)"
    assert result.total_epochs == 2


def test_epochs_between_are_not_evaluated_but_the_last(fit):
    result, calculator = fit([3, 2, 1], evaluate_every_n_epochs=2, epochs=5)
    assert [epoch for epoch, _ in calculator.asked] == [2, 4, 5]
    assert list(result.score_vs_epoch) == [2, 4, 5]


def test_a_condition_without_a_score_is_asked_after_every_epoch(fit):
    """DL4J asks none between two evaluations."""
    last = dl.MaxEpochsTerminationCondition(3)
    result, calculator = fit([3, 2], last, evaluate_every_n_epochs=2)
    assert result.total_epochs == 3
    # As the last one, whoever made it the last.
    assert [epoch for epoch, _ in calculator.asked] == [2, 3]
    assert result.best_model_epoch == 3


class Stops(dl.Listener):
    """Ends a fit in its third epoch."""

    def on_epoch_end(self, fit):
        if fit.epoch == 3:
            fit.stop()


@pytest.mark.parametrize("is_first", [True, False])
def test_the_last_epoch_is_evaluated_whichever_listener_ends_the_fit(
    network, examples, is_first
):
    calculator = GivenScores([3, 2])
    stopping = dl.EarlyStopping(calculator, evaluate_every_n_epochs=2)
    listeners = [Stops(), stopping] if is_first else [stopping, Stops()]
    network.fit(examples(25), epochs=9, batch_size=10, listeners=listeners)
    assert stopping.result.score_vs_epoch == {2: 3, 3: 2}
    assert network.last_fit.epochs[-1].values == {"validation_score": 2}


def test_scores_within_epochs_count_for_the_best_network(fit):
    result, calculator = fit([9, 1, 5, 4, 6], epochs=2, evaluate_every_n_iterations=2)
    assert calculator.asked == [(1, 2), (1, 3), (2, 4), (2, 6)]
    assert result.score_vs_epoch == {1: 1, 2: 4}
    assert result.score_vs_iteration == {2: 9, 3: 1, 4: 5, 6: 4}


def test_a_best_network_within_an_epoch_is_as_it_was_there(fit):
    result, _ = fit([9, 5, 1, 4], epochs=2, evaluate_every_n_iterations=2)
    assert (result.best_model_epoch, result.best_model_iteration) == (2, 4)
    assert result.best_model.iteration_count == 4


def test_evaluations_change_nothing_of_the_training(network, examples):
    data, alone = examples(40), network.clone()
    how = {"epochs": 3, "batch_size": 8, "shuffle": True}
    stopping = dl.EarlyStopping(examples(20), evaluate_every_n_iterations=2)
    network.fit(data, **how, listeners=stopping)
    alone.fit(data, **how)
    np.testing.assert_array_equal(network.params, alone.params)
    np.testing.assert_array_equal(network.updater_state, alone.updater_state)


def test_scores_are_reported_with_their_name(network, examples):
    data = examples(25)
    both = [dl.EarlyStopping(data), dl.EarlyStopping(data, name="other")]
    network.fit(data, batch_size=10, listeners=both)
    (epoch,) = network.last_fit.epochs
    names = {"validation_loss", "validation_accuracy", "other_loss", "other_accuracy"}
    assert set(epoch.values) == names


@pytest.mark.parametrize(
    ("metric", "calculator"),
    [
        ("accuracy", "ClassificationScoreCalculator"),
        ("r2", "RegressionScoreCalculator"),
        ("AUC", "ROCScoreCalculator"),
    ],
)
def test_a_metric_without_data_is_no_path(metric, calculator):
    with pytest.raises(OptionError, match=f"Give {calculator}\\('{metric}', data"):
        dl.EarlyStopping(metric)


def test_two_with_one_name_are_refused(network, examples):
    data = examples(25)
    both = [dl.EarlyStopping(data), dl.EarlyStopping(data)]
    with pytest.raises(OptionError, match="must have different names"):
        network.fit(data, batch_size=10, listeners=both)


class AfterIterations(dl.IterationTerminationCondition):
    """Holds after so many minibatches."""

    def __init__(self, iterations):
        self._left = iterations

    def terminate(self, last_score):
        self._left -= 1
        return self._left <= 0

    def __repr__(self):
        return "AfterIterations"


def test_a_condition_of_iterations_ends_within_an_epoch(fit, network):
    result, _ = fit([3, 2, 1], AfterIterations(5))
    assert (result.termination_reason, result.termination_details) == (
        ITERATIONS,
        "AfterIterations",
    )
    assert (network.iteration_count, result.total_epochs) == (5, 1)
    assert result.best_model.iteration_count == 3


def test_without_a_score_the_last_network_is_the_best(fit, network):
    result, _ = fit([], AfterIterations(2))
    assert result.best_model is network
    assert result.best_model_epoch is None
    assert math.isnan(result.best_model_score)


def test_another_listener_may_end_the_fit(network, examples):
    class Stops(dl.Listener):
        def on_epoch_end(self, fit):
            fit.stop()

    stopping = dl.EarlyStopping(GivenScores([3]))
    network.fit(examples(25), epochs=9, batch_size=10, listeners=[stopping, Stops()])
    assert stopping.result.termination_reason is STOPPED
    assert stopping.result.total_epochs == 1


@pytest.mark.parametrize("first", [math.nan, math.inf])
def test_a_score_that_is_no_number_is_never_the_best(fit, first):
    result, _ = fit([first, 5, math.nan, 4, 6], epochs=5)
    assert (result.best_model_epoch, result.best_model_score) == (4, 4)


class Poisoning(dl.Listener):
    """Makes a parameter no number when an epoch begins."""

    def __init__(self, epoch):
        self._epoch = epoch

    def on_epoch_start(self, fit):
        if fit.epoch == self._epoch:
            fit.network.params[0] = np.nan


def diverging(network, data, *conditions, epoch=3):
    stopping = dl.EarlyStopping(GivenScores([3, 2, 1]), conditions)
    listeners = [stopping, Poisoning(epoch)]
    network.fit(data, epochs=5, batch_size=10, listeners=listeners)
    return stopping.result


@pytest.mark.parametrize(
    "condition",
    [
        dl.InvalidScoreIterationTerminationCondition(),
        dl.MaxScoreIterationTerminationCondition(100),
    ],
)
def test_a_network_that_diverges_leaves_the_best_one(network, examples, condition):
    result = diverging(network, examples(25), condition)
    assert result.termination_reason is ITERATIONS
    assert result.termination_details == repr(condition)
    assert (result.best_model_epoch, result.total_epochs) == (2, 2)
    assert np.isfinite(result.best_model.params).all()


@pytest.mark.parametrize(
    ("conditions", "epoch"),
    [
        ([], 3),
        ([patience(3)], 3),
        ([dl.InvalidScoreIterationTerminationCondition()], 1),
    ],
    ids=["no condition", "another", "no best network"],
)
def test_else_a_network_that_diverges_is_an_error(network, examples, conditions, epoch):
    with pytest.raises(DivergedError):
        diverging(network, examples(25), *conditions, epoch=epoch)


def test_a_listener_begins_anew_with_each_fit(network, examples):
    data = examples(25)
    stopping = dl.EarlyStopping(GivenScores([1, 2, 2, 7, 6, 8, 8]), patience(2))
    how = {"epochs": 9, "batch_size": 10, "listeners": stopping}
    network.fit(data, **how)
    assert stopping.result.best_model_score == 1
    network.fit(data, **how)
    assert stopping.result.score_vs_epoch == {1: 7, 2: 6, 3: 8, 4: 8}
    assert stopping.result.best_model_score == 6


def test_a_best_network_that_cannot_be_saved_is_not_the_best(network, examples):
    class Failing(dl.InMemoryModelSaver):
        def save_best_model(self, network, score):
            if score == 1:
                raise OutputError("s3://x: full.")
            super().save_best_model(network, score)

    stopping = dl.EarlyStopping(GivenScores([3, 1, 2]), model_saver=Failing())
    network.fit(examples(25), epochs=3, batch_size=10, listeners=stopping)
    assert stopping.result.best_model_epoch == 3
    assert [e.epoch for e in network.last_fit.failed_checkpoints] == [2]


def test_a_result_tells_itself(fit):
    result, _ = fit([3, 1, 2], epochs=3)
    assert repr(result) == (
        "EarlyStoppingResult(EpochTerminationCondition: "
        "MaxEpochsTerminationCondition(3), best_model_epoch=2, best_model_score=1, "
        "total_epochs=3)"
    )
    told = result.to_dict()
    assert told["termination_reason"] == "EpochTerminationCondition"
    assert "best_model" not in told


@pytest.mark.parametrize(
    ("how", "text"),
    [
        ({"evaluate_every_n_epochs": 0}, "evaluate_every_n_epochs must be a whole"),
        ({"evaluate_every_n_iterations": 0}, "evaluate_every_n_iterations must be"),
        ({"model_saver": "here"}, "model_saver must be a EarlyStoppingModelSaver"),
        ({"save_last_model": 1}, "save_last_model must be a bool"),
        ({"batch_size": 3}, "batch_size must be given to the score calculator"),
    ],
)
def test_options_are_refused(how, text):
    with pytest.raises(OptionError, match=text):
        dl.EarlyStopping(GivenScores([]), **how)


def test_bad_validation_data_are_told_from_those_of_the_training(network, examples):
    features = examples(4).features.copy()
    features[1, 0] = np.nan
    stopping = dl.EarlyStopping((features, [0, 1, 2, 0]))
    with pytest.raises(dl.DataError, match=r"^validation: .* got nan in row 1"):
        network.fit(examples(25), epochs=2, batch_size=10, listeners=stopping)


@pytest.mark.parametrize("score", [None, np.array([0.5, 0.25]), [0.5]])
def test_a_score_that_is_no_number_is_refused(fit, score):
    with pytest.raises(dl.OptionError, match="GivenScores: calculate_score must"):
        fit([score])


def test_no_best_network_is_told(fit, caplog):
    result, _ = fit([math.nan] * 2, epochs=2)
    assert result.best_model_epoch is None
    assert "no score was a number" in caplog.text
