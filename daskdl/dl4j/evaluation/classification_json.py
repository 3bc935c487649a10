"""The JSON of ``org.nd4j.evaluation.classification.Evaluation``.

The four counters follow from the confusion matrix; they are written, but not read.
"""

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from daskdl.class_files import ClassFile
from daskdl.dialects import DL4J
from daskdl.dl4j.evaluation.array_json import array_to_json
from daskdl.dl4j.evaluation.fields import Fields, read_fields, shown, whole_row
from daskdl.dl4j.java.jackson import dumps
from daskdl.errors import FormatError, OptionError
from daskdl.evaluation.evaluation import Evaluation

E = TypeVar("E", bound=Evaluation)

CLASS = "org.nd4j.evaluation.classification.Evaluation"
# Before 1.0.0-beta3.
OLD_CLASS = "org.deeplearning4j.eval.Evaluation"
_WHO = "Evaluation"
# Their matrix takes 2 GiB. A file can name more in a few letters each.
_MOST_CLASSES = 2**14
# Zeros behind the counts of a class, which nobody reads: they are as many as examples.
_MOST_PADDING = 2**20


def write(evaluation: Evaluation, *, compact: bool) -> str:
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


def read(text: str, kind: type[E]) -> E:
    """Return the evaluation that a text tells of; see :meth:`Evaluation.from_json`."""
    options, confusion, top_n_counts = _parts(text)
    try:
        evaluation = kind(**options, dialect=DL4J)
    except OptionError as error:
        raise FormatError(f"The JSON is no evaluation: {error}") from error
    if confusion.size:
        evaluation.confusion_matrix = confusion
    evaluation.top_n_correct_count, evaluation.top_n_total_count = top_n_counts
    return evaluation


def _parts(text: str) -> tuple[dict[str, Any], NDArray[np.int64], tuple[int, int]]:
    """Return constructor options, confusion matrix and top-N counts of a text."""
    fields = read_fields(_WHO, text, (CLASS, OLD_CLASS))
    confusion = _read_confusion(fields.child("confusion", required=True))
    names, costs = fields.names("labelsList"), fields.array("costArray")
    options = {
        "labels": names,
        "top_n": fields.whole("topN", default=1, least=1),
        "binary_positive_class": _positive_class(fields),
        "binary_decision_threshold": fields.number("binaryDecisionThreshold"),
        "cost_array": None if costs is None else costs.ravel(),
        "axis": fields.whole("axis", default=1, least=1, most=4),
        "max_warning_classes_to_print": fields.whole(
            "maxWarningClassesToPrint", default=16
        ),
    }
    top_n_counts = (
        fields.whole("topNCorrectCount", default=0),
        fields.whole("topNTotalCount", default=0),
    )
    for field, given in (("labelsList", names), ("costArray", costs)):
        if given is not None and np.size(given) != len(confusion) != 0:
            raise FormatError(
                f"{_WHO}: {field} must have {len(confusion)} entries, one a class, "
                f"got {np.size(given)}."
            )
    return options, confusion, top_n_counts


def _positive_class(fields: Fields) -> int | None:
    # Files older than the field mean 1, DL4J's default.
    if "binaryPositiveClass" not in fields.names_here():
        return 1
    if fields.raw("binaryPositiveClass") is None:
        return None
    return fields.whole("binaryPositiveClass", most=1)


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
            missing = int(row.sum()) - predicted.size
            padding = [] if compact or missing > _MOST_PADDING else [0] * missing
            counts = row[predicted].tolist()
            matrix[str(actual)] = [predicted.tolist() + padding, counts + padding]
    return {"classes": list(range(confusion.shape[0])), "matrix": matrix}


def _read_confusion(confusion: Fields | None) -> NDArray[np.int64]:
    if confusion is None:
        return np.zeros((0, 0), np.int64)
    classes = confusion.wholes("classes")
    n_classes = 0 if classes is None else classes.size
    if n_classes > _MOST_CLASSES:
        raise FormatError(
            f"{_WHO}: confusion.classes must name at most {_MOST_CLASSES} classes, "
            f"got {n_classes}."
        )
    if classes is not None and (classes != np.arange(n_classes)).any():
        raise FormatError(
            f"{_WHO}: confusion.classes must be 0, 1, 2, ..., "
            f"got {classes[:5].tolist()}."
        )
    rows = confusion.child("matrix") or Fields(_WHO, {})
    matrix = np.zeros((n_classes, n_classes), np.int64)
    total = 0
    for actual in rows.names_here():
        total += _read_row(matrix, actual, rows.raw(actual))
    if total > np.iinfo(np.int64).max:
        raise FormatError(f"{_WHO}: confusion.matrix must count below 2**63, got more.")
    return matrix


def _read_row(matrix: NDArray[np.int64], actual: str, row: Any) -> int:
    """Fill a row of the matrix; return its sum, which may exceed any integer type."""
    where = f"confusion.matrix of {shown(actual)}"
    if not isinstance(row, list) or len(row) != 2:
        raise FormatError(f"{_WHO}: {where} must be two lists, got {shown(row)}.")
    predicted, counts = (whole_row(_WHO, where, half) for half in row)
    # More digits than a class has are no class, and slow to read.
    is_number = actual.isascii() and actual.isdecimal() and len(actual) < 9
    index = int(actual) if is_number else -1
    n_classes = len(matrix)
    if not 0 <= index < n_classes or (predicted >= n_classes).any():
        raise FormatError(f"{_WHO}: {where} must hold classes below {n_classes}.")
    if predicted.size != counts.size:
        raise FormatError(
            f"{_WHO}: {where} must hold as many classes as counts, got "
            f"{predicted.size} and {counts.size}."
        )
    np.add.at(matrix[index], predicted, counts)
    return sum(counts.tolist())


# By this Evaluation finds its JSON.
JSON = ClassFile(read, write)
