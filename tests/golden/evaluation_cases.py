"""The evaluation cases: what was constructed, and its numbers under DL4J's names."""

from typing import Any

from daskdl.evaluation.calibration import EvaluationCalibration
from daskdl.evaluation.evaluation import Evaluation
from daskdl.evaluation.evaluation_binary import EvaluationBinary
from daskdl.evaluation.regression import RegressionEvaluation
from daskdl.evaluation.roc import ROC
from daskdl.evaluation.roc_binary import ROCBinary
from daskdl.evaluation.roc_multi_class import ROCMultiClass
from tests.dialects import DL4J

_ABC = ["class_A", "class_B", "class_C"]
_COLUMNS = [f"column_number_{i}" for i in range(3)]

CASES: dict[str, Any] = {
    "evaluation_multiclass": lambda: Evaluation(dialect=DL4J),
    "evaluation_labels_top2": lambda: Evaluation(dialect=DL4J, labels=_ABC, top_n=2),
    "evaluation_two_classes": lambda: Evaluation(dialect=DL4J),
    "evaluation_two_classes_pos0": lambda: Evaluation(
        2, dialect=DL4J, binary_positive_class=0
    ),
    "evaluation_two_classes_threshold": lambda: Evaluation(
        dialect=DL4J, binary_decision_threshold=0.3
    ),
    "evaluation_one_column": lambda: Evaluation(dialect=DL4J),
    "evaluation_one_column_threshold": lambda: Evaluation(
        dialect=DL4J, binary_decision_threshold=0.7
    ),
    "evaluation_cost_array": lambda: Evaluation(
        dialect=DL4J, cost_array=[1.0, 1.5, 2.0]
    ),
    "evaluation_never_predicted": lambda: Evaluation(3, dialect=DL4J),
    "evaluation_mask": lambda: Evaluation(dialect=DL4J),
    "evaluation_time_series": lambda: Evaluation(dialect=DL4J),
    "evaluation_time_series_mask": lambda: Evaluation(dialect=DL4J),
    "evaluation_cnn": lambda: Evaluation(dialect=DL4J),
    "evaluation_23_classes": lambda: Evaluation(dialect=DL4J),
    "evaluationbinary": lambda: EvaluationBinary(dialect=DL4J),
    "evaluationbinary_thresholds": lambda: EvaluationBinary(
        dialect=DL4J, decision_threshold=[0.3, 0.4, 0.5]
    ),
    "evaluationbinary_mask": lambda: EvaluationBinary(dialect=DL4J),
    "evaluationbinary_roc": lambda: EvaluationBinary(
        3, dialect=DL4J, roc_binary_steps=10
    ),
    "evaluationbinary_labels": lambda: EvaluationBinary(
        dialect=DL4J, labels=["out0", "out1", "out2"]
    ),
    "roc_exact": lambda: ROC(dialect=DL4J),
    "roc_two_columns_exact": lambda: ROC(dialect=DL4J),
    "roc_ties_exact": lambda: ROC(dialect=DL4J),
    "rocbinary_exact": lambda: ROCBinary(dialect=DL4J),
    "rocmulticlass_exact": lambda: ROCMultiClass(dialect=DL4J),
    "roc_steps10": lambda: ROC(10, dialect=DL4J),
    "roc_two_columns_steps10": lambda: ROC(10, dialect=DL4J),
    "roc_ties_steps10": lambda: ROC(10, dialect=DL4J),
    "rocbinary_steps10": lambda: ROCBinary(10, dialect=DL4J),
    "rocmulticlass_steps10": lambda: ROCMultiClass(10, dialect=DL4J),
    "roc_steps32": lambda: ROC(32, dialect=DL4J),
    "roc_two_columns_steps32": lambda: ROC(32, dialect=DL4J),
    "roc_ties_steps32": lambda: ROC(32, dialect=DL4J),
    "roc_exact_keep_redundant": lambda: ROC(
        dialect=DL4J, roc_remove_redundant_pts=False
    ),
    "rocbinary_mask": lambda: ROCBinary(dialect=DL4J),
    "roc_only_positives": lambda: ROC(dialect=DL4J),
    "regression_float": lambda: RegressionEvaluation(),
    "regression_columns_float": lambda: RegressionEvaluation(3),
    "regression_double": lambda: RegressionEvaluation(),
    "regression_columns_double": lambda: RegressionEvaluation(3),
    "regression_names": lambda: RegressionEvaluation(
        column_names=_COLUMNS, precision=3
    ),
    "regression_mask_output": lambda: RegressionEvaluation(3),
    "regression_mask_example": lambda: RegressionEvaluation(3),
    "regression_time_series_mask": lambda: RegressionEvaluation(),
    "regression_constant_labels": lambda: RegressionEvaluation(1),
    "calibration_default": lambda: EvaluationCalibration(),
    "calibration_5_20": lambda: EvaluationCalibration(5, 20, exclude_empty_bins=False),
    "calibration_mask": lambda: EvaluationCalibration(10, 10),
}


def metrics_of(evaluation: Any) -> dict[str, Any]:
    """Return the numbers under the names that the generator gave them."""
    return _METRICS[type(evaluation)](evaluation)


def _of_classes(e: Evaluation) -> dict[str, Any]:
    classes = range(e.n_classes)
    found: dict[str, Any] = {
        "accuracy": e.accuracy(),
        "precision": e.precision(),
        "recall": e.recall(),
        "f1": e.f1(),
        "mcc": e.matthews_correlation(),
        "gMeasure": e.g_measure(),
        "topNAccuracy": e.top_n_accuracy(),
        "falseAlarmRate": e.false_alarm_rate(),
        "fpr": e.false_positive_rate(),
        "fnr": e.false_negative_rate(),
        "precision_class": [e.precision(i) for i in classes],
        "recall_class": [e.recall(i) for i in classes],
        "f1_class": [e.f1(i) for i in classes],
        "fpr_class": [e.false_positive_rate(i) for i in classes],
        "fnr_class": [e.false_negative_rate(i) for i in classes],
        "mcc_class": [e.matthews_correlation(i) for i in classes],
        "gMeasure_class": [e.g_measure(i) for i in classes],
        "numRowCounter": e.num_examples,
        "confusion_csv": _as_csv(e),
        "confusionToString": e.confusion_to_string(),
        "averagePrecisionNumClassesExcluded": e.n_classes_excluded("precision"),
        "averageRecallNumClassesExcluded": e.n_classes_excluded("recall"),
        "averageF1NumClassesExcluded": e.n_classes_excluded("f1"),
    }
    for suffix, averaging in (("Macro", "macro"), ("Micro", "micro")):
        found |= {
            f"precision_{suffix}": e.precision(averaging=averaging),
            f"recall_{suffix}": e.recall(averaging=averaging),
            f"f1_{suffix}": e.f1(averaging=averaging),
            f"fBeta2_{suffix}": e.f_beta(2.0, averaging=averaging),
            f"mcc_{suffix}": e.matthews_correlation(averaging=averaging),
            f"gMeasure_{suffix}": e.g_measure(averaging=averaging),
        }
    return found | {f"metric_{m}": e.score_for_metric(m) for m in e.METRICS}


def _as_csv(e: Evaluation) -> str:
    """The confusion matrix as DL4J's generator wrote it, with sums."""
    counts, n = e.confusion_matrix, e.n_classes
    head = ",,Predicted Class,\n,,"
    head += "".join(f"{i}," for i in range(n)) + "Total\n"
    rows = [
        ("Actual Class," if i == 0 else ",")
        + f"{i},"
        + "".join(f"{count}," for count in row)
        + f"{row.sum()}\n"
        for i, row in enumerate(counts)
    ]
    return (
        head
        + "".join(rows)
        + ",Total,"
        + "".join(f"{c}," for c in counts.sum(0))
        + "\n"
    )


def _of_outputs(e: EvaluationBinary) -> dict[str, Any]:
    found: dict[str, Any] = {
        "accuracy_out": e.accuracy(),
        "precision_out": e.precision(),
        "recall_out": e.recall(),
        "f1_out": e.f1(),
        "mcc_out": e.matthews_correlation(),
        "gMeasure_out": e.g_measure(),
        "fpr_out": e.false_positive_rate(),
        "fnr_out": e.false_negative_rate(),
        "far_out": e.false_alarm_rate(),
        "fBeta2_out": e.f_beta(2.0),
        "averageAccuracy": e.score_for_metric("ACCURACY"),
        "averagePrecision": e.score_for_metric("PRECISION"),
        "averageRecall": e.score_for_metric("RECALL"),
        "averageF1": e.score_for_metric("F1"),
        "averageMcc": e.score_for_metric("MCC"),
        "averageGMeasure": e.score_for_metric("GMEASURE"),
        "averageFar": e.score_for_metric("FAR"),
    }
    outputs = range(e.n_outputs)
    return found | {
        f"metric_{m}": [e.score_for_metric(m, i) for i in outputs] for m in e.METRICS
    }


def _roc_curve(curve: Any) -> dict[str, Any]:
    return {
        "threshold": curve.threshold,
        "fpr": curve.fpr,
        "tpr": curve.tpr,
        "auc": curve.area(),
    }


def _precision_recall_curve(curve: Any) -> dict[str, Any]:
    return {
        "threshold": curve.threshold,
        "precision": curve.precision,
        "recall": curve.recall,
        "tp": curve.tp_count,
        "fp": curve.fp_count,
        "fn": curve.fn_count,
        "total": curve.total_count,
        "auprc": curve.area(),
    }


def _of_roc(e: ROC) -> dict[str, Any]:
    return {
        "auc": e.auc(),
        "auprc": e.auprc(),
        "roc": _roc_curve(e.roc_curve()),
        "pr": _precision_recall_curve(e.precision_recall_curve()),
        "exampleCount": e.example_count,
        "positives": e.count_actual_positive,
        "negatives": e.count_actual_negative,
    }


def _of_columns(e: ROCBinary | ROCMultiClass) -> dict[str, Any]:
    columns = range(len(e.rocs))
    found: dict[str, Any] = {
        "auc": [e.auc(i) for i in columns],
        "auprc": [e.auprc(i) for i in columns],
        "averageAuc": e.average_auc(),
        "averageAuprc": e.average_auprc(),
    }
    for i in columns:
        found[f"roc{i}"] = _roc_curve(e.roc_curve(i))
        found[f"pr{i}"] = _precision_recall_curve(e.precision_recall_curve(i))
    return found


def _of_regression(e: RegressionEvaluation) -> dict[str, Any]:
    found: dict[str, Any] = {
        "mse": e.mean_squared_error(),
        "mae": e.mean_absolute_error(),
        "rmse": e.root_mean_squared_error(),
        "rse": e.relative_squared_error(),
        "pc": e.pearson_correlation(),
        "r2": e.r_squared(),
        "correlationR2": e.pearson_correlation(),
    }
    averages = ("Mse", "Mae", "Rmse", "Rse", "Pc", "R2")
    for name, metric in zip(averages, e.METRICS, strict=True):
        found[f"average{name}"] = e.score_for_metric(metric)
        found[f"metric_{metric}"] = e.score_for_metric(metric)
    return found


def _histogram(plot: Any) -> dict[str, Any]:
    return {
        "title": plot.title,
        "lower": plot.lower,
        "upper": plot.upper,
        "counts": plot.counts,
    }


def _of_calibration(e: EvaluationCalibration) -> dict[str, Any]:
    found: dict[str, Any] = {
        "residual_all": _histogram(e.residual_plot()),
        "probability_all": _histogram(e.probability_histogram()),
        "labelCounts": e.label_counts,
        "predictionCounts": e.prediction_counts,
    }
    for i in range(e.n_classes):
        diagram = e.reliability_diagram(i)
        found[f"reliability{i}"] = {
            "title": diagram.title,
            "x": diagram.mean_predicted_value,
            "y": diagram.fraction_positives,
        }
        found[f"residual{i}"] = _histogram(e.residual_plot(i))
        found[f"probability{i}"] = _histogram(e.probability_histogram(i))
    return found


_METRICS: dict[type, Any] = {
    Evaluation: _of_classes,
    EvaluationBinary: _of_outputs,
    ROC: _of_roc,
    ROCBinary: _of_columns,
    ROCMultiClass: _of_columns,
    RegressionEvaluation: _of_regression,
    EvaluationCalibration: _of_calibration,
}
