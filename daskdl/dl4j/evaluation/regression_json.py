"""The JSON of ``org.nd4j.evaluation.regression.RegressionEvaluation``."""

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from daskdl.class_files import ClassFile
from daskdl.dl4j.evaluation.array_json import array_to_json
from daskdl.dl4j.evaluation.fields import read_fields
from daskdl.dl4j.java.jackson import dumps
from daskdl.errors import FormatError
from daskdl.evaluation.regression import RegressionEvaluation
from daskdl.evaluation.regression_sums import Columns

R = TypeVar("R", bound=RegressionEvaluation)

CLASS = "org.nd4j.evaluation.regression.RegressionEvaluation"
# Before 1.0.0-beta3.
OLD_CLASS = "org.deeplearning4j.eval.RegressionEvaluation"
_WHO = "RegressionEvaluation"

# Our names of the sums, in the order of the file.
_FIELDS = {
    "count": "exampleCountPerColumn",
    "labels": "labelsSumPerColumn",
    "squared_errors": "sumSquaredErrorsPerColumn",
    "abs_errors": "sumAbsErrorsPerColumn",
    "mean_label": "currentMean",
    "mean_prediction": "currentPredictionMean",
    "products": "sumOfProducts",
    "squared_labels": "sumSquaredLabels",
    "squared_predictions": "sumSquaredPredicted",
}
_NEVER_NEGATIVE = frozenset(
    {"count", "squared_errors", "abs_errors", "squared_labels", "squared_predictions"}
)
# More than a double has in any base, and a table that still fits into memory.
_MOST_DIGITS = 1000


def write(evaluation: RegressionEvaluation) -> str:
    """Return the text; see :meth:`RegressionEvaluation.to_json`."""
    sums = evaluation.sums
    return dumps(
        {
            "@class": CLASS,
            "axis": evaluation.axis,
            "initialized": bool(sums),
            "columnNames": evaluation.column_names or None,
            "precision": evaluation.precision,
            **{field: array_to_json(sums.get(name)) for name, field in _FIELDS.items()},
            "sumLabels": array_to_json(sums.get("labels")),
        }
    )


def read(text: str, kind: type[R]) -> R:
    """Return the evaluation of a text; see :meth:`RegressionEvaluation.from_json`."""
    fields = read_fields(_WHO, text, (CLASS, OLD_CLASS))
    options: dict[str, Any] = {
        "column_names": fields.names("columnNames"),
        "precision": fields.whole("precision", default=5, most=_MOST_DIGITS),
        "axis": fields.whole("axis", default=1, least=1, most=4),
    }
    arrays = {name: fields.array(field) for name, field in _FIELDS.items()}
    if arrays["count"] is None:
        return kind(**options)
    return kind.of(
        {name: _row_of(name, array) for name, array in arrays.items()}, **options
    )


def _row_of(name: str, array: NDArray[Any] | None) -> Columns:
    """Return a sum as a file has it, shape (n_columns,)."""
    field = _FIELDS[name]
    if array is None:
        raise FormatError(
            f"{_WHO}: {field} must be an array like exampleCountPerColumn, got null."
        )
    row = array.astype(np.float64).ravel()
    is_wrong = (name in _NEVER_NEGATIVE and (row < 0).any()) or (
        name == "count" and not np.isfinite(row).all()
    )
    if is_wrong:
        raise FormatError(
            f"{_WHO}: {field} must hold numbers >= 0, got {row[:5].tolist()}."
        )
    return row


# By this RegressionEvaluation finds its JSON.
JSON = ClassFile(read, write)
