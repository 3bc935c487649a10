"""Which evaluations a network gets, and what the page takes from them."""

from types import SimpleNamespace

import numpy as np
import pytest

from daskdl import MultiLayerConfiguration, MultiLayerNetwork, Output
from daskdl.cli.results import evaluations_for
from daskdl.cli.run_page import accuracy_of
from daskdl.dialects import EXACT
from daskdl.evaluation.evaluation import Evaluation
from daskdl.evaluation.evaluation_binary import EvaluationBinary
from daskdl.evaluation.regression import RegressionEvaluation
from daskdl.nn.batches import ArraySpec
from daskdl.nn.conf.input_type import FeedForward
from daskdl.nn.loss_evaluations import evaluation_for


def network(*outputs, activation="softmax"):
    """A network with outputs of so many numbers and such losses."""
    return SimpleNamespace(
        output_activations=[activation] * len(outputs),
        output_nodes=[SimpleNamespace(conf=Output(n_out=2)) for _ in outputs],
        output_losses=[loss for loss, _ in outputs],
        output_layer_n_out=[n_out for _, n_out in outputs],
        outputs=[ArraySpec("", FeedForward(size=n_out)) for _, n_out in outputs],
        class_names=None,
        conf=SimpleNamespace(dialect=EXACT),
    )


@pytest.mark.parametrize(
    ("loss", "n_out", "names"),
    [
        ("mcxent", 3, ["Evaluation", "ROCMultiClass", "EvaluationCalibration"]),
        ("xent", 1, ["Evaluation", "ROC", "EvaluationCalibration"]),
        ("xent", 4, ["EvaluationBinary", "ROCBinary", "EvaluationCalibration"]),
        ("mcxent", 1000, ["Evaluation"]),
        ("mcxent", None, ["Evaluation"]),
        ("hinge", 3, ["Evaluation"]),
        ("mse", 3, ["RegressionEvaluation"]),
        ("msle", 1, ["RegressionEvaluation"]),
    ],
)
def test_evaluations_go_with_the_loss(loss, n_out, names):
    found = evaluations_for(network((loss, n_out)))
    assert [type(evaluation).__name__ for evaluation in found] == names


@pytest.mark.parametrize("loss", ["mcxent", "xent", "multilabel", "kl_divergence"])
def test_outputs_that_may_be_no_probabilities_have_no_curves(loss):
    assert len(evaluations_for(network((loss, 3), activation="identity"))) == 1


def test_the_activation_is_that_of_the_network():
    def found(**options):
        layers = [Output(n_out=3, **options)]
        conf = MultiLayerConfiguration(
            input=FeedForward(size=2), layers=layers, validate_output_layer=False
        )
        return len(evaluations_for(MultiLayerNetwork(conf)))

    assert found(loss="mcxent") == 3
    assert found(loss="xent", activation="hardsigmoid") == 3
    assert found(loss="xent", activation={"type": "leakyrelu"}) == 1
    assert found(loss="kl_divergence") == 3
    assert found(loss="multilabel") == 1


def test_the_first_is_the_one_that_is_told():
    assert isinstance(evaluation_for(network(("mcxent", 3))), Evaluation)


def test_the_accuracy_of_independent_outputs_is_their_mean():
    evaluation = EvaluationBinary()
    evaluation.eval(np.ones((2, 2)), np.array([[0.9, 0.1], [0.9, 0.9]]))
    assert accuracy_of(evaluation) == 0.75


def test_a_regression_has_no_accuracy():
    assert accuracy_of(RegressionEvaluation()) is None


def test_of_several_outputs_the_first_is_evaluated():
    both = network(("mse", 2), ("mcxent", 3))
    assert isinstance(evaluation_for(both), RegressionEvaluation)
