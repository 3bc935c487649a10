"""The JSON of ``org.nd4j.evaluation.classification.Evaluation``.

The four counters follow from the confusion matrix; they are written, but not read.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from daskdl.errors import FormatError
from daskdl.evaluation.jackson import array_from_json, array_to_json, dumps, loads

if TYPE_CHECKING:
    from daskdl.evaluation.evaluation import Evaluation

CLASS = "org.nd4j.evaluation.classification.Evaluation"
# Before 1.0.0-beta3.
OLD_CLASS = "org.deeplearning4j.eval.Evaluation"
_WHO = "Evaluation"


def write(evaluation: "Evaluation", *, compact: bool) -> str:
    """Return the text; see :meth:`Evaluation.to_json`."""
    counts = evaluation.counts
    return dumps(
        {
            "@class": CLASS,
            "axis": evaluation.axis,
            "binaryPositiveClass": evaluation.binary_positive_class,
            "topN": evaluation.top_n,
            "topNCorrectCount": evaluation.top_n_correct_count,
            "topNTotalCount": evaluation.top_n_total_count,
            "truePositives": _counter(counts.true_positives),
            "falsePositives": _counter(counts.false_positives),
            "trueNegatives": _counter(counts.true_negatives),
            "falseNegatives": _counter(counts.false_negatives),
            "confusion": _confusion(evaluation.confusion_matrix, compact),
            "numRowCounter": evaluation.num_examples,
            "labelsList": evaluation.labels,
            "binaryDecisionThreshold": evaluation.binary_decision_threshold,
            "costArray": array_to_json(evaluation.cost_array),
            "maxWarningClassesToPrint": evaluation.max_warning_classes_to_print,
        }
    )


def read(text: str) -> tuple[dict[str, Any], NDArray[np.int64], tuple[int, int]]:
    """Return constructor options, confusion matrix and top-N counts of a text.

    Raises
    ------
    FormatError
        When the text is no JSON of an evaluation.
    """
    fields = loads(text, (CLASS, OLD_CLASS))
    try:
        costs = fields.get("costArray")
        confusion = _read_confusion(fields["confusion"])
        options = {
            "labels": fields.get("labelsList") or None,
            "top_n": max(int(fields.get("topN", 1)), 1),
            # Files older than the field mean 1, DL4J's default.
            "binary_positive_class": fields.get("binaryPositiveClass", 1),
            "binary_decision_threshold": fields.get("binaryDecisionThreshold"),
            "cost_array": None if costs is None else array_from_json(_WHO, costs),
            "axis": int(fields.get("axis", 1)),
            "max_warning_classes_to_print": int(
                fields.get("maxWarningClassesToPrint", 16)
            ),
        }
        top_n_counts = (
            int(fields.get("topNCorrectCount", 0)),
            int(fields.get("topNTotalCount", 0)),
        )
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(
            f"{_WHO}: the JSON must have the fields of {CLASS}, got {error!r} while "
            f"reading them."
        ) from error
    names = options["labels"]
    if names is not None and len(names) != len(confusion) != 0:
        raise FormatError(
            f"{_WHO}: labelsList must name {len(confusion)} classes, got {len(names)}."
        )
    return options, confusion, top_n_counts


def _counter(counts: NDArray[np.int64]) -> dict[str, Any]:
    cells = {str(i): float(count) for i, count in enumerate(counts.tolist()) if count}
    return {
        "map": cells,
        "totalCount": float(counts.sum()),
        "dirty": False,
        "empty": not cells,
    }


def _confusion(confusion: NDArray[np.int64], compact: bool) -> dict[str, Any] | None:
    if confusion.size == 0:
        return None
    matrix = {}
    for actual, row in enumerate(confusion):
        predicted = np.flatnonzero(row)
        if predicted.size:
            # DL4J makes both lists as long as the row has examples.
            padding = [] if compact else [0] * (int(row.sum()) - predicted.size)
            counts = row[predicted].tolist()
            matrix[str(actual)] = [predicted.tolist() + padding, counts + padding]
    return {"classes": list(range(confusion.shape[0])), "matrix": matrix}


def _read_confusion(confusion: dict[str, Any] | None) -> NDArray[np.int64]:
    if confusion is None:
        return np.zeros((0, 0), np.int64)
    n_classes = len(confusion["classes"])
    if confusion["classes"] != list(range(n_classes)):
        raise FormatError(
            f"{_WHO}: confusion.classes must be 0, 1, 2, ..., "
            f"got {str(confusion['classes'])[:60]}."
        )
    matrix = np.zeros((n_classes, n_classes), np.int64)
    for actual, (predicted, counts) in confusion["matrix"].items():
        for column, count in zip(predicted, counts, strict=True):
            if count < 0 or not 0 <= int(actual) < n_classes or column < 0:
                raise FormatError(
                    f"{_WHO}: confusion.matrix must hold classes below {n_classes} and "
                    f"counts >= 0, got {count} for {actual}, {column}."
                )
            matrix[int(actual), column] += count
    return matrix
