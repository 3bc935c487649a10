"""Which evaluation a network gets: one rule, by its loss."""

from typing import get_args

import numpy as np
import pytest

import daskdl as dl
from daskdl.errors import OptionError
from daskdl.nn.conf.names import LossLiteral
from daskdl.nn.loss_evaluations import (
    INDEPENDENT_LOSSES,
    REGRESSION_LOSSES,
    evaluation_for,
)
from tests.unit.networks.small import sequence

# Losses of classes that exclude each other.
CLASSES = {
    "mcxent",
    "negativeloglikelihood",
    "sparse_mcxent",
    "kl_divergence",
    "hinge",
    "squared_hinge",
    "fmeasure",
}


def network(loss, n_out=3, **options):
    return sequence(
        dl.FeedForward(size=4), dl.Output(n_out=n_out, loss=loss, **options)
    )


def data(rng, n_out=3):
    return dl.DataSet(rng.random((10, 4)), rng.random((10, n_out)).round())


def test_every_loss_is_of_one_kind():
    known = [*REGRESSION_LOSSES, *INDEPENDENT_LOSSES, *CLASSES]
    assert sorted(known) == sorted(get_args(LossLiteral))


@pytest.mark.parametrize("loss", sorted(REGRESSION_LOSSES))
def test_numbers_are_evaluated_as_numbers(rng, loss):
    found = network(loss, activation="sigmoid").evaluate(data(rng))
    assert type(found) is dl.RegressionEvaluation


@pytest.mark.parametrize("loss", sorted(INDEPENDENT_LOSSES))
def test_independent_outputs_are_evaluated_one_by_one(rng, loss):
    found = network(loss, activation="sigmoid").evaluate(data(rng))
    assert type(found) is dl.EvaluationBinary


def test_one_probability_tells_two_classes(rng):
    net = network("xent", n_out=1, activation="sigmoid")
    net.class_names = ["no", "yes"]
    found = net.evaluate(data(rng, 1))
    assert type(found) is dl.Evaluation
    assert "1 = yes" in found.stats()


@pytest.mark.parametrize("loss", sorted(CLASSES - {"sparse_mcxent", "fmeasure"}))
def test_classes_are_evaluated_as_classes(rng, loss):
    assert type(network(loss).evaluate(data(rng))) is dl.Evaluation


def test_what_is_given_is_counted_on(rng):
    given = dl.Evaluation()
    assert network("mse").evaluate(data(rng), given) is given


def test_the_error_is_that_of_the_outputs(rng):
    net, examples = network("mse", activation="identity"), data(rng)
    error = np.abs(net.output(examples.features) - examples.labels).mean(axis=0)
    found = net.evaluate(examples).mean_absolute_error()
    np.testing.assert_allclose(found, error, rtol=1e-5)


@pytest.mark.parametrize(
    ("kind", "axis"),
    [
        (dl.Recurrent(size=3), 1),
        (dl.Recurrent(size=3, data_format="NWC"), 2),
    ],
)
@pytest.mark.parametrize("loss", ["mcxent", "mse", "xent"])
def test_classes_lie_where_the_data_format_has_them(kind, axis, loss):
    net = sequence(kind, dl.RnnOutput(n_out=2, loss=loss))
    assert evaluation_for(net).axis == axis


def test_names_of_independent_outputs_are_printed(rng):
    net = network("xent", activation="sigmoid")
    net.class_names = ["red", "green", "blue"]
    assert "green" in net.evaluate(data(rng)).stats()


NEITHER = {
    "scores": (dl.FeedForward(size=4), [dl.OCNNOutput(hidden_size=3)], "give ROC()"),
    "boxes": (
        dl.Convolutional(height=2, width=2, channels=6),
        [dl.Yolo2Output(bounding_boxes=[(1, 1)])],
        "are boxes in the cells of a grid",
    ),
    "distributions": (
        dl.FeedForward(size=4),
        [
            dl.Output(
                n_out=6,
                loss={"type": "mixture_density", "mixtures": 2, "label_width": 1},
            )
        ],
        "are parameters of distributions",
    ),
}


@pytest.mark.parametrize("case", NEITHER)
def test_what_is_neither_class_nor_value_has_no_evaluation_of_its_own(case):
    """The message says what to do instead."""
    input_type, layers, message = NEITHER[case]
    net = sequence(input_type, *layers)
    with pytest.raises(OptionError, match="evaluation must be given, got None") as told:
        net.evaluate((np.zeros(2), np.zeros(2)))
    assert message.lower() in str(told.value).lower()


def test_one_class_networks_are_evaluated_with_a_curve(rng):
    net = sequence(dl.FeedForward(size=4), dl.OCNNOutput(hidden_size=3))
    features = rng.random((10, 4))
    is_normal = net.output(features)[:, 0] > np.median(net.output(features))
    found = net.evaluate((features, is_normal.astype(float)), dl.ROC())
    assert found.auc() == pytest.approx(1)
