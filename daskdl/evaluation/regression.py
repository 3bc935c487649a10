"""Evaluation of regression, a column at a time."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from daskdl.arrays.namespace import FloatArray
from daskdl.checks import check_at_least
from daskdl.errors import FormatError, OptionError, ShapeError
from daskdl.evaluation.counts import mean_of_all
from daskdl.evaluation.evaluable import Evaluable
from daskdl.evaluation.fields import read_fields
from daskdl.evaluation.jackson import array_to_json, dumps
from daskdl.evaluation.java_numbers import java_scientific
from daskdl.evaluation.rows import unmasked_rows

CLASS = "org.nd4j.evaluation.regression.RegressionEvaluation"
# Before 1.0.0-beta3.
OLD_CLASS = "org.deeplearning4j.eval.RegressionEvaluation"

# Below this a variance counts as zero; DL4J's Nd4j.EPS_THRESHOLD.
_EPSILON = 1e-5

# More than a double has in any base, and a table that still fits into memory.
_MOST_DIGITS = 1000

# The running sums, one row each, and their names in the file.
_SUMS = {
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
# Sums beyond what a double holds are infinite, and their differences NaN: no warning
# could say more than the numbers do.
_quietly = np.errstate(over="ignore", invalid="ignore", divide="ignore")


class RegressionEvaluation(Evaluable):
    """Errors and correlation of predicted columns.

    Parameters
    ----------
    n_columns : int, optional
        Found from the first batch unless given.
    column_names : sequence of str, optional
        ``col_0``, ``col_1``, ... unless given.
    precision : int
        Digits after the point in :meth:`stats`.
    axis : int
        Axis of the columns: 1 for DL4J's NCW and NCHW, 2 and 3 for NWC and NHWC.

    Notes
    -----
    Sums are float64 whatever the arrays are. Where we differ from DL4J: merging also
    adds the sum of the labels, so R² is right after it, and an empty evaluation can be
    merged into.
    """

    METRICS = ("MSE", "MAE", "RMSE", "RSE", "PC", "R2")

    def __init__(
        self,
        n_columns: int | None = None,
        *,
        column_names: Sequence[str] | None = None,
        precision: int = 5,
        axis: int = 1,
    ) -> None:
        who = "RegressionEvaluation"
        self.precision = int(check_at_least(who, "precision", precision, 0))
        self.axis = int(check_at_least(who, "axis", axis, 1))
        self._names = list(column_names) if column_names else None
        if n_columns is not None:
            check_at_least(who, "n_columns", n_columns, 1)
            if self._names is not None and len(self._names) != n_columns:
                raise OptionError(
                    f"{who}: column_names must name {n_columns} columns, "
                    f"got {len(self._names)}."
                )
        self._n_columns_given = n_columns
        self._sums: dict[str, NDArray[np.float64]] = {}
        if self._names is not None or n_columns is not None:
            self._start(n_columns or len(self.column_names))

    @property
    def column_names(self) -> list[str]:
        """Names of the columns; empty while their number is not known."""
        return self._names or [f"col_{i}" for i in range(self.n_columns)]

    @property
    def n_columns(self) -> int:
        """Number of columns; 0 while it is not known."""
        return self._sums["count"].size if self._sums else 0

    @property
    def example_count(self) -> NDArray[np.float64]:
        """Rows counted in each column, of shape (n_columns,)."""
        return self._sum("count")

    def eval(self, labels: Any, predictions: Any, mask: Any = None) -> None:
        """Count a batch.

        Parameters
        ----------
        labels, predictions : ndarray of shape (batch, n), (batch, n, time) or
            (batch, n, height, width)
            What was measured and what was predicted.
        mask : ndarray, optional
            One value an example, a position or an output; 0 drops it.

        Raises
        ------
        ShapeError
            When the shapes do not go together.
        DataError
            When a label or a prediction that counts is NaN.
        """
        label_rows, rows, kept = unmasked_rows(
            "RegressionEvaluation", labels, predictions, mask, self.axis
        )
        self._start_or_check(rows.shape[1])
        self._add(_sums_of(label_rows, rows, kept))

    def merge(self, other: Evaluable) -> None:
        """Add the sums of another evaluation, which is not changed.

        Raises
        ------
        OptionError
            When the other one is no `RegressionEvaluation`.
        ShapeError
            When it has another number of columns.
        """
        other = self._of_same_class(other)
        if not other._sums:
            return
        self._names = self._names or other._names
        self._start_or_check(other.n_columns)
        self._add(other._sums)

    def new_instance(self) -> "RegressionEvaluation":
        """Return an evaluation with the same options and no data."""
        return RegressionEvaluation(
            self._n_columns_given,
            column_names=self._names,
            precision=self.precision,
            axis=self.axis,
        )

    def mean_squared_error(self) -> NDArray[np.float64]:
        """Return Σ(p - l)² / N per column."""
        return _divide(self._sum("squared_errors"), self._sum("count"))

    def mean_absolute_error(self) -> NDArray[np.float64]:
        """Return Σ|p - l| / N per column."""
        return _divide(self._sum("abs_errors"), self._sum("count"))

    def root_mean_squared_error(self) -> NDArray[np.float64]:
        """Return the square root of the mean squared error per column."""
        return np.sqrt(self.mean_squared_error())

    @_quietly
    def relative_squared_error(self) -> NDArray[np.float64]:
        """Return Σ(p - l)² / Σ(l - mean l)² per column, inf for constant labels."""
        above = (
            self._sum("squared_predictions")
            - 2 * self._sum("products")
            + self._sum("squared_labels")
        )
        below = self._label_deviation()
        varies = np.abs(below) > _EPSILON
        return np.where(varies, _divide(above, below), np.inf)

    @_quietly
    def pearson_correlation(self) -> NDArray[np.float64]:
        """Return the correlation of predictions with labels; NaN for constant ones."""
        n, label = self._sum("count"), self._sum("mean_label")
        prediction = self._sum("mean_prediction")
        above = self._sum("products") - n * prediction * label
        deviation = self._sum("squared_predictions") - n * prediction * prediction
        # Rounding may leave a little below zero for a constant column.
        scale = np.sqrt(np.maximum(self._label_deviation(), 0))
        return _divide(above, scale * np.sqrt(np.maximum(deviation, 0)))

    @_quietly
    def r_squared(self) -> NDArray[np.float64]:
        """Return 1 - SSres / SStot per column, the coefficient of determination."""
        mean, n = self._sum("mean_label"), self._sum("count")
        total = self._sum("squared_labels") + mean * (
            n * mean - 2 * self._sum("labels")
        )
        return _divide(total - self._sum("squared_errors"), total)

    def score_for_metric(self, metric: str) -> float:
        """Return the mean over columns of one of ``METRICS``, by its DL4J name."""
        per_column = {
            "MSE": self.mean_squared_error,
            "MAE": self.mean_absolute_error,
            "RMSE": self.root_mean_squared_error,
            "RSE": self.relative_squared_error,
            "PC": self.pearson_correlation,
            "R2": self.r_squared,
        }[self._check_metric(metric)]()
        return mean_of_all(per_column)

    def stats(self) -> str:
        """Return the table that DL4J prints, a line a column."""
        if not self._sums:
            return "RegressionEvaluation: No Data"
        name_width = max(len(name) for name in self.column_names) + 5
        width = self.precision + 10
        titles = ("MSE", "MAE", "RMSE", "RSE", "PC", "R^2")
        head = "Column".ljust(name_width) + "".join(t.ljust(width) for t in titles)
        columns = zip(
            self.column_names,
            self.mean_squared_error(),
            self.mean_absolute_error(),
            self.root_mean_squared_error(),
            self.relative_squared_error(),
            self.pearson_correlation(),
            self.r_squared(),
            strict=True,
        )
        lines = [
            name.ljust(name_width)
            + "".join(java_scientific(v, self.precision).ljust(width) for v in values)
            for name, *values in columns
        ]
        return "\n".join([head, *lines]) + "\n"

    def to_json(self) -> str:
        """Return DL4J's JSON, in which the sum of the labels stands twice."""
        sums = {
            field: array_to_json(self._sums.get(name)) for name, field in _SUMS.items()
        }
        return dumps(
            {
                "@class": CLASS,
                "axis": self.axis,
                "initialized": bool(self._sums),
                "columnNames": self.column_names or None,
                "precision": self.precision,
                **sums,
                "sumLabels": array_to_json(self._sums.get("labels")),
            }
        )

    @classmethod
    def from_json(cls, text: str) -> "RegressionEvaluation":
        """Return the evaluation that :meth:`to_json` or DL4J wrote.

        The sum of the labels is read from ``labelsSumPerColumn``: in the file of a
        merged evaluation DL4J's ``sumLabels`` is wrong or missing.

        Raises
        ------
        FormatError
            When the text is no such JSON or holds arrays that do not go together.
        """
        who = "RegressionEvaluation"
        fields = read_fields(who, text, (CLASS, OLD_CLASS))
        evaluation = cls(
            column_names=fields.names("columnNames"),
            precision=fields.whole("precision", default=5, most=_MOST_DIGITS),
            axis=fields.whole("axis", default=1, least=1, most=4),
        )
        arrays = {name: fields.array(field) for name, field in _SUMS.items()}
        if arrays["count"] is not None:
            evaluation._sums = {
                name: _row(who, name, array) for name, array in arrays.items()
            }
        sizes = {values.size for values in evaluation._sums.values()}
        if evaluation._sums and sizes != {len(evaluation.column_names)}:
            raise FormatError(
                "RegressionEvaluation: all arrays must have one value for each of "
                f"{len(evaluation.column_names)} columns, got sizes {sorted(sizes)}."
            )
        return evaluation

    def _sum(self, name: str) -> NDArray[np.float64]:
        return self._sums[name] if self._sums else np.zeros(0)

    def _label_deviation(self) -> NDArray[np.float64]:
        mean = self._sum("mean_label")
        return self._sum("squared_labels") - self._sum("count") * mean * mean

    def _start(self, n_columns: int) -> None:
        self._sums = {name: np.zeros(n_columns) for name in _SUMS}

    def _start_or_check(self, n_columns: int) -> None:
        if not self._sums:
            self._start(n_columns)
        if n_columns != self.n_columns:
            raise ShapeError(
                f"RegressionEvaluation: labels must have {self.n_columns} columns, "
                f"got {n_columns}."
            )

    @_quietly
    def _add(self, sums: dict[str, NDArray[np.float64]]) -> None:
        ours = self._sums
        before, more = ours["count"], sums["count"]
        after = before + more
        for name in ("mean_label", "mean_prediction"):
            weighted = ours[name] * before + sums[name] * more
            ours[name] = np.divide(
                weighted, after, out=np.zeros_like(after), where=after > 0
            )
        for name in _SUMS:
            if not name.startswith("mean"):
                ours[name] = ours[name] + sums[name]


def _row(who: str, name: str, array: NDArray[Any] | None) -> NDArray[np.float64]:
    field = _SUMS[name]
    if array is None:
        raise FormatError(
            f"{who}: {field} must be an array like exampleCountPerColumn, got null."
        )
    row = array.astype(np.float64).ravel()
    is_wrong = (name in _NEVER_NEGATIVE and (row < 0).any()) or (
        name == "count" and not np.isfinite(row).all()
    )
    if is_wrong:
        raise FormatError(
            f"{who}: {field} must hold numbers >= 0, got {row[:5].tolist()}."
        )
    return row


@_quietly
def _sums_of(
    labels: FloatArray, predictions: FloatArray, kept: NDArray[np.bool_] | None
) -> dict[str, NDArray[np.float64]]:
    labels = labels.astype(np.float64)
    predictions = predictions.astype(np.float64)
    count = np.full(labels.shape[1], float(labels.shape[0]))
    if kept is not None:
        labels, predictions = np.where(kept, labels, 0), np.where(kept, predictions, 0)
        count = kept.sum(axis=0).astype(np.float64)
    error = predictions - labels
    label_sum, prediction_sum = labels.sum(axis=0), predictions.sum(axis=0)
    at_least_one = np.maximum(count, 1)
    return {
        "count": count,
        "labels": label_sum,
        "squared_errors": (error * error).sum(axis=0),
        "abs_errors": np.abs(error).sum(axis=0),
        "mean_label": label_sum / at_least_one,
        "mean_prediction": prediction_sum / at_least_one,
        "products": (labels * predictions).sum(axis=0),
        "squared_labels": (labels * labels).sum(axis=0),
        "squared_predictions": (predictions * predictions).sum(axis=0),
    }


def _divide(
    above: NDArray[np.float64], below: NDArray[np.float64]
) -> NDArray[np.float64]:
    with np.errstate(divide="ignore", invalid="ignore"):
        return above / below
