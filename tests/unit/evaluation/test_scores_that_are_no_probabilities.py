"""Thresholds and bins are from 0 to 1: other scores are refused, not lost."""

import numpy as np
import pytest

from daskdl.errors import DataError
from daskdl.evaluation.calibration import EvaluationCalibration
from daskdl.evaluation.evaluation_binary import EvaluationBinary
from daskdl.evaluation.roc import ROC
from daskdl.evaluation.roc_binary import ROCBinary
from daskdl.evaluation.roc_multi_class import ROCMultiClass

LABELS = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
SCORES = np.array([[3.0, -3.0], [-2.0, 2.0], [0.5, -0.5]])

WITH_THRESHOLDS = {
    "ROC": lambda: ROC(200),
    "ROCBinary": lambda: ROCBinary(200),
    "ROCMultiClass": lambda: ROCMultiClass(200),
    "EvaluationBinary": lambda: EvaluationBinary(roc_binary_steps=200),
    "EvaluationCalibration": lambda: EvaluationCalibration(),
}
EXACT = {
    "ROC": lambda: ROC(),
    "ROCBinary": lambda: ROCBinary(),
    "ROCMultiClass": lambda: ROCMultiClass(),
    "EvaluationBinary": lambda: EvaluationBinary(
        roc_binary_steps=0, decision_threshold=[0.0, 0.0]
    ),
}
every_threshold = pytest.mark.parametrize("name", WITH_THRESHOLDS)


@every_threshold
def test_scores_are_refused_and_nothing_is_counted(name):
    evaluation = WITH_THRESHOLDS[name]()
    evaluation.eval(LABELS, LABELS)
    before = evaluation.to_json()
    with pytest.raises(
        DataError,
        match=r"predictions must be probabilities from 0 to 1, got 5 outside, the first"
        r" 3 in row 0 of those that count, column 0\. (An exact ROC|The bins)",
    ):
        evaluation.eval(LABELS, SCORES)
    assert evaluation.to_json() == before


@every_threshold
@pytest.mark.parametrize("score", [-1e-3, 1.001, np.inf, -np.inf])
def test_a_little_outside_is_outside(name, score):
    with pytest.raises(DataError, match="got 2 outside"):
        WITH_THRESHOLDS[name]().eval(LABELS[:1], np.full((1, 2), score))


@every_threshold
def test_the_row_is_named_that_is_outside(name):
    scores = LABELS.copy()
    scores[1, 1] = -7.25
    with pytest.raises(DataError, match=r"the first -7\.25 in row 1 .*, column 1\."):
        WITH_THRESHOLDS[name]().eval(LABELS, scores)


@every_threshold
def test_what_a_mask_drops_may_be_anything(name):
    evaluation = WITH_THRESHOLDS[name]()
    evaluation.eval(LABELS, np.where([[True], [False], [True]], 0.5, SCORES), [1, 0, 1])


@pytest.mark.parametrize("name", ["ROCBinary", "EvaluationBinary"])
def test_what_a_mask_of_outputs_drops_may_be_anything(name):
    evaluation = WITH_THRESHOLDS[name]()
    inside = (SCORES >= 0) & (SCORES <= 1)
    evaluation.eval(LABELS, SCORES, inside)
    with pytest.raises(DataError, match="got 5 outside"):
        evaluation.eval(LABELS, SCORES, np.ones((3, 2)))


@every_threshold
@pytest.mark.parametrize(
    ("dtype", "rounding"), [("float64", 1e-7), ("float32", 3e-7), ("float16", 1e-3)]
)
def test_what_rounding_leaves_outside_counts_as_0_and_1(name, dtype, rounding):
    rounded, exact = WITH_THRESHOLDS[name](), WITH_THRESHOLDS[name]()
    labels = LABELS.astype(dtype)
    rounded.eval(labels, np.where(labels > 0.5, 1 + rounding, -rounding).astype(dtype))
    exact.eval(labels, labels)
    assert rounded.to_json() == exact.to_json()


@pytest.mark.parametrize("name", EXACT)
def test_without_thresholds_any_scores_count(name):
    evaluation = EXACT[name]()
    evaluation.eval(LABELS, SCORES)
    if isinstance(evaluation, ROC):
        assert evaluation.auc() == 1.0
    else:
        rocs = getattr(evaluation, "roc_binary", evaluation)
        assert rocs.average_auc() == 1.0


def test_decisions_need_no_probabilities():
    evaluation = EvaluationBinary()
    evaluation.eval(LABELS, SCORES)
    assert evaluation.accuracy().tolist() == [2 / 3, 1.0]
