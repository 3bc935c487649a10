"""Early stopping here and in the real DL4J: reasons, epochs, scores, best networks."""

import numpy as np
import pytest

import daskdl as dl
from daskdl.dl4j.network import model_zip
from tests.dl4j.real_dl4j import RefusedError
from tests.dl4j.trials import close

TOLERANCE = 1e-8


def score_improvement(*values):
    return dl.ScoreImprovementEpochTerminationCondition, values


MAX_EPOCHS = (dl.MaxEpochsTerminationCondition, (9,))
ENDS = {
    "max epochs": [MAX_EPOCHS],
    "no improvement": [score_improvement(2), MAX_EPOCHS],
    "no improvement, later": [score_improvement(5), MAX_EPOCHS],
    "little improvement": [score_improvement(2, 0.02), MAX_EPOCHS],
    "at once": [score_improvement(0), MAX_EPOCHS],
    "good enough": [(dl.BestScoreEpochTerminationCondition, (0.97,)), MAX_EPOCHS],
    "never good enough": [(dl.BestScoreEpochTerminationCondition, (0.0,)), MAX_EPOCHS],
    "scores of minibatches": [
        (dl.MaxScoreIterationTerminationCondition, (100.0,)),
        MAX_EPOCHS,
    ],
    "time": [(dl.MaxTimeIterationTerminationCondition, (3600,)), MAX_EPOCHS],
    "valid scores": [(dl.InvalidScoreIterationTerminationCondition, ()), MAX_EPOCHS],
}
SCORES = {
    "loss": ("DataSetLossCalculator", "mean"),
    "sum of losses": ("DataSetLossCalculator", "sum"),
    "accuracy": ("ClassificationScoreCalculator", "ACCURACY"),
    "f1": ("ClassificationScoreCalculator", "F1"),
    "auc": ("ROCScoreCalculator", "AUC"),
    "auprc": ("ROCScoreCalculator", "AUPRC"),
}
VALUES = ("MSE", "MAE", "RMSE", "RSE", "PC", "R2")


def network_of(n_out, *, learning_rate=0.05, **output):
    return dl.MultiLayerNetwork(
        dl.MultiLayerConfiguration(
            input=dl.FeedForward(size=4),
            layers=[
                dl.Dense(n_out=16, activation="tanh"),
                dl.Output(n_out=n_out, **output),
            ],
            updater=dl.Adam(learning_rate=learning_rate),
            l2=0.01,
            seed=5,
            dtype="float64",
            dialect="dl4j-1.0.0-M2.1",
        )
    )


def draw(rng, n_parts, *, n_out, are_classes):
    parts = []
    for _ in range(n_parts):
        x = rng.standard_normal((12, 4))
        noisy = x[:, :n_out] + rng.standard_normal((12, n_out))
        classes = np.eye(n_out)[noisy.argmax(axis=1)]
        parts.append(dl.DataSet(x, classes if are_classes else noisy))
    return parts


def written(dl4j, parts):
    paths = [dl4j.new(".bin") for _ in parts]
    for path, part in zip(paths, parts, strict=True):
        part.save(path)
    return paths


def both(dl4j, network, train, held_back, conditions, calculator, metric, *, every=1):
    """Return our result and what DL4J answers, of training from one network."""
    model, saved = dl4j.new(".zip"), dl4j.new(".zip")
    model_zip.save(network, model)
    answer = dl4j.ask(
        "early_stopping",
        model=model,
        dtype="float64",
        train=written(dl4j, train),
        held_back=written(dl4j, held_back),
        calculator=calculator,
        metric=metric,
        conditions=[
            {"type": kind.__name__, "values": values} for kind, values in conditions
        ],
        every=every,
        save=saved,
    )
    kind = getattr(dl, calculator)
    if kind is dl.DataSetLossCalculator:
        ours = kind(held_back, average=metric == "mean")
    else:
        ours = kind(metric, held_back)
    stopping = dl.EarlyStopping(
        ours,
        [made(*values) for made, values in conditions],
        evaluate_every_n_epochs=every,
    )
    network.fit(train, epochs=9, listeners=stopping)
    return stopping.result, answer, model_zip.load(saved)


def check_same(result, answer, best):
    assert result.termination_reason.value == answer["reason"]
    name = answer["details"].partition("(")[0]
    assert result.termination_details.partition("(")[0] == name
    # DL4J counts epochs from 0, but not those that there were.
    scores = {int(epoch) + 1: score for epoch, score in answer["scores"].items()}
    assert result.score_vs_epoch.keys() == scores.keys()
    close(list(result.score_vs_epoch.values()), list(scores.values()), TOLERANCE)
    assert result.best_model_epoch == answer["best_epoch"] + 1
    # Its best score is that of training, which copies of networks do not have.
    assert answer["best_score"] == 0
    assert result.best_model_score == result.score_vs_epoch[result.best_model_epoch]
    assert result.total_epochs == answer["total_epochs"]
    close(result.best_model.params, best.params, TOLERANCE)


@pytest.mark.parametrize("name", ENDS)
def test_training_ends_in_the_same_epoch(dl4j, rng, name):
    network = network_of(3)
    how = {"n_out": 3, "are_classes": True}
    train, held_back = draw(rng, 3, **how), draw(rng, 4, **how)
    calculator = SCORES["loss"]
    check_same(*both(dl4j, network, train, held_back, ENDS[name], *calculator))


def test_a_score_of_a_minibatch_ends_training_in_the_same_epoch(dl4j, rng):
    steep = dl.MapSchedule(values={0: 0.05, 3: 5.0}, schedule_type="epoch")
    network = network_of(3, learning_rate=steep)
    how = {"n_out": 3, "are_classes": True}
    train, held_back = draw(rng, 3, **how), draw(rng, 4, **how)
    ends = [(dl.MaxScoreIterationTerminationCondition, (3.0,)), MAX_EPOCHS]
    result, *theirs = both(dl4j, network, train, held_back, ends, *SCORES["loss"])
    assert result.termination_reason.value == "IterationTerminationCondition"
    check_same(result, *theirs)


def test_dl4j_fails_where_training_ends_without_a_best_network(dl4j, rng):
    how = {"n_out": 3, "are_classes": True}
    train, held_back = draw(rng, 3, **how), draw(rng, 4, **how)
    ends = [(dl.MaxScoreIterationTerminationCondition, (0.0,))]
    network = network_of(3)
    with pytest.raises(RefusedError, match="NullPointerException"):
        both(dl4j, network, train, held_back, ends, *SCORES["loss"])
    stopping = dl.EarlyStopping(held_back, ends[0][0](0.0))
    network.fit(train, listeners=stopping)
    assert stopping.result.best_model is network


@pytest.mark.parametrize("name", SCORES)
def test_scores_of_classes_are_the_same(dl4j, rng, name):
    network = network_of(3)
    how = {"n_out": 3, "are_classes": True}
    train, held_back = draw(rng, 3, **how), draw(rng, 4, **how)
    ends = ENDS["no improvement, later"]
    check_same(*both(dl4j, network, train, held_back, ends, *SCORES[name]))


@pytest.mark.parametrize("metric", VALUES)
def test_scores_of_values_are_the_same(dl4j, rng, metric):
    network = network_of(2, loss="mse", activation="identity")
    how = {"n_out": 2, "are_classes": False}
    train, held_back = draw(rng, 3, **how), draw(rng, 4, **how)
    calculator = "RegressionScoreCalculator", metric
    ends = ENDS["no improvement, later"]
    check_same(*both(dl4j, network, train, held_back, ends, *calculator))


def test_dl4j_evaluates_the_first_epoch_and_not_the_last(dl4j, rng):
    """And asks for the number of epochs only where it has a score."""
    network = network_of(3)
    how = {"n_out": 3, "are_classes": True}
    train, held_back = draw(rng, 3, **how), draw(rng, 4, **how)
    ends = [(dl.MaxEpochsTerminationCondition, (6,))]
    result, answer, _ = both(
        dl4j, network, train, held_back, ends, *SCORES["loss"], every=4
    )
    assert (list(answer["scores"]), answer["total_epochs"]) == (["0", "4", "8"], 9)
    assert (list(result.score_vs_epoch), result.total_epochs) == ([4, 6], 6)
