"""Scores of a network while it is trained, and what is reported with them."""

import numpy as np
import pytest

import daskdl as dl
from daskdl.errors import DataError, OptionError
from daskdl.nn.fitting.fit import Fit
from tests.unit.networks.small import two_in_two_out


@pytest.fixture
def data(examples):
    return examples(30)


def output(**options):
    return dl.MultiLayerNetwork(
        dl.MultiLayerConfiguration(
            input=dl.FeedForward(size=5), layers=[dl.Output(**options)], seed=2, l2=0.1
        )
    )


VALUES = {"n_out": 2, "loss": "mse", "activation": "identity"}
INDEPENDENT = {"n_out": 2, "loss": "xent", "activation": "sigmoid"}


def scored(calculator, network):
    return calculator.calculate_score(Fit((), 1, lambda: network))


def test_the_loss_is_that_of_training(network, data):
    """With what regularization adds, as in DL4J."""
    calculator = dl.DataSetLossCalculator(data)
    score = scored(calculator, network)
    assert score == pytest.approx(network.compute_score(data), rel=1e-6)
    assert score > np.mean(network.score_examples(data))
    accuracy = network.evaluate(data).accuracy()
    assert calculator.figures == {"loss": score, "accuracy": accuracy}


def test_the_loss_may_be_a_sum(network, data):
    mean = scored(dl.DataSetLossCalculator(data), network)
    # By position as in DL4J.
    total = scored(dl.DataSetLossCalculator(data, False), network)
    assert total == pytest.approx(30 * mean)


@pytest.mark.parametrize("batch_size", [7, 30])
def test_minibatches_of_any_size_give_one_loss(network, data, batch_size):
    whole = scored(dl.DataSetLossCalculator(data), network)
    parts = scored(dl.DataSetLossCalculator(data, batch_size=batch_size), network)
    assert parts == pytest.approx(whole, rel=1e-6)


def test_outputs_that_are_not_evaluated_have_a_loss(data):
    mixture = {"type": "mixture_density", "mixtures": 1, "label_width": 2}
    network = output(n_out=4, loss=mixture, activation="identity")
    given = (data.features, data.features[:, :2])
    calculator = dl.DataSetLossCalculator(given)
    scored(calculator, network)
    assert set(calculator.figures) == {"loss"}


def test_a_loss_of_whole_minibatches_has_a_score(data):
    network = output(n_out=1, loss="fmeasure", activation="sigmoid")
    given = dl.DataSet(data.features, data.labels[:, :1])
    score = scored(dl.DataSetLossCalculator(given), network)
    assert score == pytest.approx(network.compute_score(given), rel=1e-6)


@pytest.mark.parametrize("metric", ["ACCURACY", "F1", "precision", "Recall", "MCC"])
def test_a_metric_of_classes_is_that_of_the_evaluation(network, data, metric):
    calculator = dl.ClassificationScoreCalculator(metric, data)
    found = network.evaluate(data).score_for_metric(metric)
    assert scored(calculator, network) == found
    assert not calculator.minimize_score
    assert calculator.figures[metric.lower()] == found


def test_outputs_that_do_not_exclude_each_other_have_the_mean(data):
    network = output(**INDEPENDENT)
    given = dl.DataSet(data.features, data.labels[:, :2])
    calculator = dl.ClassificationScoreCalculator("far", given)
    found = network.evaluate(given).score_for_metric("FAR")
    assert scored(calculator, network) == found
    assert calculator.minimize_score


@pytest.mark.parametrize("metric", dl.RegressionEvaluation.METRICS)
def test_a_metric_of_values_is_that_of_the_evaluation(data, metric):
    network = output(**VALUES)
    given = dl.DataSet(data.features, data.features[:, :2])
    calculator = dl.RegressionScoreCalculator(metric, given)
    found = network.evaluate(given).score_for_metric(metric)
    assert scored(calculator, network) == pytest.approx(found)
    assert calculator.minimize_score == (metric not in ("PC", "R2"))


@pytest.mark.parametrize(
    ("layer", "kind", "columns"),
    [
        ({"n_out": 3}, dl.ROCMultiClass, 3),
        ({"n_out": 2}, dl.ROC, 2),
        ({"n_out": 1, "loss": "xent", "activation": "sigmoid"}, dl.ROC, 1),
        (INDEPENDENT, dl.ROCBinary, 2),
    ],
    ids=["classes", "two classes", "a number", "independent"],
)
@pytest.mark.parametrize(("metric", "name"), [("AUC", "AUROC"), ("auprc", "AUPRC")])
def test_the_area_is_that_of_the_curve(data, layer, kind, columns, metric, name):
    network = output(**layer)
    labels = data.labels[:, :columns].copy()
    if columns == 2 and layer["n_out"] == 2 and "loss" not in layer:
        labels[:, 1] = 1 - labels[:, 0]
    given = dl.DataSet(data.features, labels)
    calculator = dl.ROCScoreCalculator(metric, given)
    found = network.evaluate(given, kind()).score_for_metric(name)
    assert scored(calculator, network) == pytest.approx(found)
    assert not calculator.minimize_score
    assert set(calculator.figures) == {"loss", "accuracy", metric.lower()}


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (dl.ClassificationScoreCalculator, "loss must be one of classes, got 'mse'"),
        (dl.ROCScoreCalculator, "loss must be one of classes, got 'mse'"),
    ],
)
def test_what_does_not_go_with_the_loss_is_refused(data, make, text):
    metric = "AUC" if make is dl.ROCScoreCalculator else "F1"
    given = dl.DataSet(data.features, data.features[:, :2])
    with pytest.raises(OptionError, match=text):
        scored(make(metric, given), output(**VALUES))


def test_classes_are_no_values(network, data):
    with pytest.raises(OptionError, match="loss must be one of values, got 'mcxent'"):
        scored(dl.RegressionScoreCalculator("MSE", data), network)


def test_classes_that_exclude_each_other_have_no_false_alarms(network, data):
    with pytest.raises(OptionError, match=r"where classes exclude .* got 'FAR'"):
        scored(dl.ClassificationScoreCalculator("FAR", data), network)


@pytest.mark.parametrize(
    ("kind", "metric"),
    [
        (dl.ClassificationScoreCalculator, "accurate"),
        (dl.RegressionScoreCalculator, "F1"),
        (dl.ROCScoreCalculator, "ROC"),
    ],
)
def test_an_unknown_metric_is_refused(data, kind, metric):
    with pytest.raises(OptionError, match=f"metric must be one of .* got '{metric}'"):
        kind(metric, data)


def test_no_example_is_no_score(network):
    with pytest.raises(DataError, match="must hold a minibatch, got none"):
        scored(dl.DataSetLossCalculator([]), network)


class FeatureSum(dl.Tally):
    """A count of one's own, which needs no labels."""

    needs_labels = False

    def __init__(self):
        self.total = 0.0

    def add(self, network, batch):
        self.total += float(batch.features.sum())

    def merge(self, other):
        self.total += other.total


@pytest.mark.parametrize("form", ["dataset", "columns"])
def test_a_tally_counts_what_has_no_labels(network, data, form):
    given, how = dl.DataSet(data.features), {}
    if form == "columns":
        given, how = {"f": data.features}, {"features": "f"}
        xarray = pytest.importorskip("xarray")
        given = xarray.Dataset({"f": (("sample", "feature"), data.features)})
        how = {"features": "f", "sample_dim": "sample"}
    empty = FeatureSum()
    found = Fit((), 1, lambda: network).tally(given, empty, **how)
    assert found.total == pytest.approx(float(data.features.sum()), abs=1e-3)
    assert empty.total == 0.0


def test_any_output_of_a_graph_can_be_watched(rng):
    network = two_in_two_out(seed=3)
    data = dl.MultiDataSet(
        [rng.standard_normal((12, 4)), rng.standard_normal((12, 2))],
        [rng.standard_normal((12, 1)), np.eye(3)[rng.integers(0, 3, 12)]],
    )
    classes = np.argmax(network.output(data.features)[1], axis=1)
    accuracy = np.mean(classes == np.argmax(data.labels[1], axis=1))
    calculator = dl.ClassificationScoreCalculator("accuracy", [data], output="o1")
    calculator.check(network)
    assert scored(calculator, network) == pytest.approx(accuracy)
    assert "of output 'o1'" in calculator.in_words()
    with pytest.raises(OptionError, match="got 'mse'"):
        dl.ClassificationScoreCalculator("accuracy", [data]).check(network)
    with pytest.raises(OptionError, match="output must be one of"):
        dl.DataSetLossCalculator([data], output="o3").check(network)
