"""The report that DL4J prints of a classifier's evaluation."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from daskdl.evaluation.number_texts import number_text

if TYPE_CHECKING:
    from daskdl.evaluation.evaluation import Evaluation

# More classes than this make a matrix wider than a screen; it must be asked for.
MOST_CLASSES_PRINTED = 20

_HEAD = "========================Evaluation Metrics========================"
_MATRIX = "=========================Confusion Matrix========================="
_END = "=================================================================="


def classification_report(
    evaluation: "Evaluation", *, warnings: bool, confusion: bool | None
) -> str:
    """Return the text of :meth:`Evaluation.stats`."""
    lines = ["", "", _HEAD, *_metric_lines(evaluation), *_option_lines(evaluation)]
    text = "\n".join(lines) + "\n\n"
    if warnings:
        text += _warning(evaluation, "precision") + _warning(evaluation, "recall")
    return text + _confusion_part(evaluation, confusion) + "\n" + _END


def confusion_table(confusion: NDArray[np.int64], labels: Sequence[str]) -> str:
    """Return a confusion matrix as text, a line an actual class.

    The matrix is of shape (n_classes, n_classes), actual classes first.
    """
    n_classes = confusion.shape[0]
    if n_classes == 0:
        return "Confusion matrix: <no data>"
    largest = max(1, int(confusion.max()), n_classes)
    # DL4J's width: a largest count of exactly 10 or 100 stands without a gap.
    width = max(1, math.ceil(math.log10(largest))) + 1
    lines = [
        "".join(f"{i:{width}d}" for i in range(n_classes)),
        "-" * (width * n_classes + 1),
    ]
    for i, row in enumerate(confusion.tolist()):
        cells = "".join(f"{count:{width}d}" for count in row)
        lines.append(f"{cells} | {i} = {labels[i]}")
    return "\n".join(lines) + (
        "\n\nConfusion matrix format: Actual (rowClass) predicted as (columnClass) "
        "N times"
    )


def named_confusion_table(confusion: NDArray[np.int64], labels: Sequence[str]) -> str:
    """Return a confusion matrix as text with the names before the rows.

    The matrix is of shape (n_classes, n_classes), actual classes first.
    """
    width = max([10, *(len(name) + 5 for name in labels)])
    head = f"   {'Predicted:':{width}s}   " + "".join(
        f"{i:7d}" for i in range(confusion.shape[0])
    )
    rows = [
        f"{i:<3d}{labels[i]:{width}s} | " + "".join(f"{count:7d}" for count in row)
        for i, row in enumerate(confusion.tolist())
    ]
    return "\n".join([head, "   Actual:", *rows]) + "\n"


def _metric_lines(evaluation: "Evaluation") -> list[str]:
    lines = [
        f" # of classes:    {evaluation.n_classes}",
        f" Accuracy:        {_four_digits(evaluation.accuracy())}",
    ]
    if evaluation.top_n > 1:
        accuracy = _four_digits(evaluation.top_n_accuracy())
        lines.append(f" Top {evaluation.top_n} Accuracy:  {accuracy}")
    for title, name, value in (
        ("Precision:", "precision", evaluation.precision()),
        ("Recall:", "recall", evaluation.recall()),
        ("F1 Score:", "f1", evaluation.f1()),
    ):
        excluded = _excluded(evaluation, name)
        lines.append(f" {title:17s}{_four_digits(value)}{excluded}")
    return lines


def _option_lines(evaluation: "Evaluation") -> list[str]:
    lines = []
    positive = evaluation.binary_positive_class
    if evaluation.n_classes > 2 or positive is None:
        lines.append(
            "Precision, recall & F1: macro-averaged (equally weighted avg. of "
            f"{evaluation.n_classes} classes)"
        )
    elif evaluation.n_classes == 2:
        lines.append(
            "Precision, recall & F1: reported for positive class (class "
            f'{positive} - "{evaluation.labels[positive]}") only'
        )
    if evaluation.binary_decision_threshold is not None:
        threshold = number_text(evaluation.binary_decision_threshold)
        lines.append(f"Binary decision threshold: {threshold}")
    if evaluation.cost_array is not None:
        costs = ", ".join(number_text(cost) for cost in evaluation.cost_array)
        lines.append(f"Cost array: [{costs}]")
    return lines


def _excluded(evaluation: "Evaluation", metric: str) -> str:
    if evaluation.n_classes <= 2:
        return ""
    excluded = evaluation.n_classes_excluded(metric)
    if excluded == 0:
        return ""
    return f"\t({excluded} class{'es' if excluded > 1 else ''} excluded from average)"


def _warning(evaluation: "Evaluation", metric: str) -> str:
    counts = evaluation.counts
    rates = counts.precision() if metric == "precision" else counts.recall()
    classes = np.flatnonzero(np.isnan(rates)).tolist()
    if not classes:
        return ""
    noun, verb = ("class", "was") if len(classes) == 1 else ("classes", "were")
    # DL4J's words for both: in the second it is that the class never occurred.
    text = (
        f"Warning: {len(classes)} {noun} {verb} never predicted by the model and "
        f"{verb} excluded from average {metric}"
    )
    if len(classes) <= evaluation.max_warning_classes_to_print:
        text += f"\nClasses excluded from average {metric}: {classes}\n"
    return text


def _confusion_part(evaluation: "Evaluation", confusion: bool | None) -> str:
    few = evaluation.n_classes <= MOST_CLASSES_PRINTED
    if confusion or (confusion is None and few):
        table = confusion_table(evaluation.confusion_matrix, evaluation.labels)
        return f"\n{_MATRIX}\n{table}"
    if confusion is None:
        return (
            "\n\nNote: Confusion matrix not generated due to space requirements for "
            f"{evaluation.n_classes} classes.\n"
            "Use stats(false,true) to generate anyway"
        )
    return ""


def _four_digits(value: float) -> str:
    return f"{value:.4f}" if math.isfinite(value) else number_text(value)
