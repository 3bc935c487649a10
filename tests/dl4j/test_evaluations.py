"""Evaluations that we wrote: the real DL4J reads them and says the same."""

import numpy as np
import pytest

from daskdl.evaluation.calibration import EvaluationCalibration
from daskdl.evaluation.evaluation import Evaluation
from daskdl.evaluation.evaluation_binary import EvaluationBinary
from daskdl.evaluation.regression import RegressionEvaluation
from daskdl.evaluation.roc import ROC
from daskdl.evaluation.roc_binary import ROCBinary
from daskdl.evaluation.roc_multi_class import ROCMultiClass
from tests.dialects import DL4J

N_EXAMPLES = 40


def classes(rng, n=3):
    scores = np.exp(rng.standard_normal((N_EXAMPLES, n)))
    labels = np.eye(n)[rng.integers(0, n, N_EXAMPLES)]
    return labels, scores / scores.sum(axis=1, keepdims=True)


def binary(rng, n=3):
    return rng.integers(0, 2, (N_EXAMPLES, n)).astype(float), rng.random(
        (N_EXAMPLES, n)
    )


def numbers(rng):
    labels = rng.standard_normal((N_EXAMPLES, 3))
    return labels, labels + 0.3 * rng.standard_normal(labels.shape)


EVALUATIONS = {
    "classes": (lambda: Evaluation(dialect=DL4J), classes),
    "classes with names and top 2": (
        lambda: Evaluation(labels=["a", "b", "c"], top_n=2, dialect=DL4J),
        classes,
    ),
    "costs": (lambda: Evaluation(cost_array=[1.0, 1.5, 2.0], dialect=DL4J), classes),
    "binary": (EvaluationBinary, binary),
    "binary with thresholds": (
        lambda: EvaluationBinary(decision_threshold=[0.3, 0.4, 0.5]),
        binary,
    ),
    "roc, exact": (lambda: ROC(dialect=DL4J), lambda rng: binary(rng, 1)),
    "roc, thresholds": (lambda: ROC(20, dialect=DL4J), lambda rng: binary(rng, 1)),
    "roc of columns": (lambda: ROCBinary(dialect=DL4J), binary),
    "roc of columns, thresholds": (lambda: ROCBinary(20, dialect=DL4J), binary),
    "roc of classes": (lambda: ROCMultiClass(dialect=DL4J), classes),
    "roc of classes, thresholds": (lambda: ROCMultiClass(20, dialect=DL4J), classes),
    "regression": (RegressionEvaluation, numbers),
    "calibration": (EvaluationCalibration, classes),
}
FOLDERS = {RegressionEvaluation: "regression"}


@pytest.mark.parametrize("name", EVALUATIONS)
def test_json_and_statistics(dl4j, rng, tmp_path, name):
    make, draw = EVALUATIONS[name]
    halves = [make(), make()]
    for half in halves:
        half.eval(*draw(rng))
    merged = halves[0]
    merged.merge(halves[1])
    kind = type(merged)
    path = tmp_path / "evaluation.json"
    path.write_text(merged.to_json(), "utf-8")
    folder = FOLDERS.get(kind, "classification")
    answer = dl4j.ask("evaluation", path=path, **{"class": f"{folder}.{kind.__name__}"})
    assert answer["stats"] == kind.from_json(answer["json"]).stats()
    assert answer["json"] == kind.from_json(merged.to_json()).to_json()
    assert answer["stats"] == merged.stats()


def test_f1_of_two_classes_of_which_none_is_positive(dl4j, tmp_path):
    """DL4J says averaged and prints that of class 1; precision is the average."""
    ours = Evaluation(binary_positive_class=None)
    ours.eval(np.eye(2)[[0] * 10 + [1] * 9], np.eye(2)[[0] * 8 + [1] * 6 + [0] * 5])
    path = tmp_path / "evaluation.json"
    path.write_text(ours.to_json(), "utf-8")
    answer = dl4j.ask("evaluation", path=path, **{"class": "classification.Evaluation"})
    average, of_class_1 = (
        f"F1 Score:        {f1:.4f}" for f1 in (ours.f1(), ours.f1(1))
    )
    assert average != of_class_1
    assert "macro-averaged" in answer["stats"]
    assert answer["stats"] == ours.stats().replace(average, of_class_1)
