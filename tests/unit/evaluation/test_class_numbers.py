"""Whatever takes the number of a class, output, column or point refuses others."""

import numpy as np
import pytest

from daskdl.errors import OptionError
from daskdl.evaluation.calibration import EvaluationCalibration
from daskdl.evaluation.evaluation import Evaluation
from daskdl.evaluation.evaluation_binary import EvaluationBinary
from daskdl.evaluation.roc_binary import ROCBinary
from daskdl.evaluation.roc_multi_class import ROCMultiClass

N_CLASSES = 3

CALLS = {
    Evaluation: {
        "precision": lambda e, i: e.precision(i),
        "recall": lambda e, i: e.recall(i),
        "f1": lambda e, i: e.f1(i),
        "f_beta": lambda e, i: e.f_beta(2.0, i),
        "false_positive_rate": lambda e, i: e.false_positive_rate(i),
        "false_negative_rate": lambda e, i: e.false_negative_rate(i),
        "g_measure": lambda e, i: e.g_measure(i),
        "matthews_correlation": lambda e, i: e.matthews_correlation(i),
        "actual": lambda e, i: e.predictions(actual=i),
        "predicted": lambda e, i: e.predictions(predicted=i),
    },
    EvaluationBinary: {"output": lambda e, i: e.score_for_metric("F1", i)},
    EvaluationCalibration: {
        "reliability_diagram": lambda e, i: e.reliability_diagram(i),
        "expected_calibration_error": lambda e, i: e.expected_calibration_error(i),
        "residual_plot": lambda e, i: e.residual_plot(i),
        "probability_histogram": lambda e, i: e.probability_histogram(i),
    },
    **{
        kind: {
            "roc": lambda e, i: e.roc(i),
            "roc_curve": lambda e, i: e.roc_curve(i),
            "precision_recall_curve": lambda e, i: e.precision_recall_curve(i),
            "auc": lambda e, i: e.auc(i),
            "auprc": lambda e, i: e.auprc(i),
            "score": lambda e, i: e.score_for_metric("AUROC", i),
            "point": lambda e, i: e.precision_recall_curve(0).point(i),
        }
        for kind in (ROCBinary, ROCMultiClass)
    },
}
every_call = pytest.mark.parametrize(
    ("kind", "name"),
    [(kind, name) for kind, calls in CALLS.items() for name in calls],
    ids=lambda value: getattr(value, "__name__", value),
)


@every_call
@pytest.mark.parametrize("number", [-1, 7, 1.0, True, "1"])
def test_what_is_no_number_of_one_is_refused(kind, name, number):
    evaluation = kind()
    evaluation.eval(np.eye(N_CLASSES), np.eye(N_CLASSES))
    with pytest.raises(
        OptionError, match=rf"must be a whole number from 0 to \d, got {number!r}\."
    ):
        CALLS[kind][name](evaluation, number)


@every_call
def test_numbers_of_numpy_are_taken(kind, name):
    evaluation = kind()
    evaluation.eval(np.eye(N_CLASSES), np.eye(N_CLASSES))
    CALLS[kind][name](evaluation, np.int64(2))


@every_call
def test_without_data_there_are_none(kind, name):
    with pytest.raises(OptionError, match=r"got 0 and no data\. Call eval first\."):
        CALLS[kind][name](kind(), 0)


def test_classes_that_are_known_need_no_data():
    assert Evaluation(N_CLASSES).precision(2) == 0.0
    with pytest.raises(OptionError, match=r"class_index must be .* 0 to 2, got 3"):
        Evaluation(N_CLASSES).f1(3)
