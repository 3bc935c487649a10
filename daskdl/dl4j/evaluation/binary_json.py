"""The JSON of ``org.nd4j.evaluation.classification.EvaluationBinary``."""

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from daskdl.arrays.namespace import FloatArray
from daskdl.class_files import ClassFile
from daskdl.dl4j.evaluation.array_json import array_to_json
from daskdl.dl4j.evaluation.columns_json import column_fields, read_columns
from daskdl.dl4j.evaluation.fields import Fields, read_fields
from daskdl.dl4j.java.jackson import dumps
from daskdl.errors import FormatError
from daskdl.evaluation.evaluation_binary import EvaluationBinary, StoredBinary
from daskdl.evaluation.roc_binary import ROCBinary

B = TypeVar("B", bound=EvaluationBinary)

CLASS = "org.nd4j.evaluation.classification.EvaluationBinary"
# Before 1.0.0-beta3.
OLD_CLASS = "org.deeplearning4j.eval.EvaluationBinary"
_WHO = "EvaluationBinary"
# In the order of `ClassCounts`; the file has another one.
_COUNTS = (
    "countTruePositive",
    "countFalsePositive",
    "countFalseNegative",
    "countTrueNegative",
)


def write(evaluation: EvaluationBinary) -> str:
    """Return the text; see :meth:`EvaluationBinary.to_json`."""
    counts = evaluation.counts
    has_counts = evaluation.n_outputs > 0
    roc = evaluation.roc_binary
    fields: dict[str, Any] = {
        "@class": CLASS,
        "axis": evaluation.axis,
        "countTruePositive": counts.true_positives.tolist() if has_counts else None,
        "countFalsePositive": counts.false_positives.tolist() if has_counts else None,
        "countTrueNegative": counts.true_negatives.tolist() if has_counts else None,
        "countFalseNegative": counts.false_negatives.tolist() if has_counts else None,
        "rocBinary": None if roc is None else column_fields(roc),
        "labels": evaluation.labels,
        "decisionThreshold": array_to_json(evaluation.decision_threshold),
    }
    return dumps(fields)


def read(text: str, kind: type[B]) -> B:
    """Return the evaluation of a text; see :meth:`EvaluationBinary.from_json`."""
    return kind.of(_stored(text))


def _stored(text: str) -> StoredBinary:
    fields = read_fields(_WHO, text, (CLASS, OLD_CLASS))
    counts = _read_counts(fields)
    roc = fields.child("rocBinary")
    stored = StoredBinary(
        counts,
        None if roc is None else read_columns(roc, ROCBinary),
        fields.names("labels"),
        _read_thresholds(fields),
        fields.whole("axis", default=1, least=1, most=4),
    )
    n_outputs = 0 if counts is None else counts.shape[1]
    for name, given in (
        ("labels", stored.labels),
        ("decisionThreshold", stored.decision_threshold),
        ("rocBinary", stored.roc_binary.rocs if stored.roc_binary else None),
    ):
        if n_outputs and given is not None and len(given) not in (0, n_outputs):
            raise FormatError(
                f"{_WHO}: {name} must have {n_outputs} entries like the counts, "
                f"got {len(given)}."
            )
    return stored


def _read_counts(fields: Fields) -> NDArray[np.int64] | None:
    rows = [fields.wholes(name) for name in _COUNTS]
    known = [row for row in rows if row is not None]
    sizes = sorted({row.size for row in known})
    if not known or sizes == [0]:
        return None
    if len(known) != len(rows) or len(sizes) != 1:
        raise FormatError(
            f"{_WHO}: the four counts must have one length, got {sizes} in "
            f"{len(known)} lists."
        )
    if max(int(row.max()) for row in known) > np.iinfo(np.int64).max // 4:
        raise FormatError(f"{_WHO}: counts must be below 2**61, got more.")
    return np.stack(known)


def _read_thresholds(fields: Fields) -> FloatArray | None:
    array = fields.array("decisionThreshold")
    if array is None:
        return None
    row = array.ravel()
    if not ((row >= 0) & (row <= 1)).all():
        raise FormatError(
            f"{_WHO}: decisionThreshold must hold numbers from 0 to 1, "
            f"got {row[:5].tolist()}."
        )
    return row if row.dtype.kind == "f" else row.astype(np.float32)


# By this EvaluationBinary finds its JSON.
JSON = ClassFile(read, write)
