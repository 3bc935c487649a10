"""Evaluation of regression, a column at a time."""

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from daskdl.checks import check_at_least
from daskdl.errors import FormatError, OptionError, ShapeError
from daskdl.evaluation.counts import mean_of_all
from daskdl.evaluation.evaluable import Evaluable
from daskdl.evaluation.json_text import json_of, of_json
from daskdl.evaluation.moments import PairMoments
from daskdl.evaluation.number_texts import scientific_text
from daskdl.evaluation.regression_sums import (
    SUMS,
    Deviations,
    Sums,
    deviations_of,
    merged_sums,
    moments_of,
    sums_of,
)
from daskdl.evaluation.rows import unmasked_rows

R = TypeVar("R", bound="RegressionEvaluation")

# Below this a variance counts as zero; DL4J's Nd4j.EPS_THRESHOLD.
_EPSILON = 1e-5

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

    RSE, correlation and R² come from second moments about the mean: DL4J's come from
    sums of squares, which cancel where a mean is large against the spread. Its JSON
    holds those sums and no moments. So an evaluation that was read gives the numbers
    that DL4J would give of that file. Where data are added to it, or another evaluation
    is merged, the part from the file counts with what its sums can tell, and the whole
    is as right as they are. Pickle keeps everything.
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
        self._sums: Sums = {}
        # None where a file told the sums alone.
        self._moments: PairMoments | None = PairMoments.nothing(0)
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

    @property
    def sums(self) -> Sums:
        """The running sums by name, each (n_columns,); none while that is not known."""
        return self._sums

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
        self._count(label_rows.astype(np.float64), rows.astype(np.float64), kept)

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
        self._add(other._sums, other._moments)

    def new_instance(self) -> "RegressionEvaluation":
        """Return an evaluation with the same options and no data."""
        return RegressionEvaluation(
            self._n_columns_given,
            column_names=self._names,
            precision=self.precision,
            axis=self.axis,
        )

    def mean_squared_error(self) -> NDArray[np.float64]:
        """Return Σ(p - l)² / N per column, shape (n_columns,)."""
        return _divide(self._sum("squared_errors"), self._sum("count"))

    def mean_absolute_error(self) -> NDArray[np.float64]:
        """Return Σ|p - l| / N per column, shape (n_columns,)."""
        return _divide(self._sum("abs_errors"), self._sum("count"))

    def root_mean_squared_error(self) -> NDArray[np.float64]:
        """Return the root of the mean squared error per column, shape (n_columns,)."""
        return np.sqrt(self.mean_squared_error())

    @_quietly
    def relative_squared_error(self) -> NDArray[np.float64]:
        """Return Σ(p - l)² / Σ(l - mean l)² per column, shape (n_columns,).

        Infinite for constant labels.
        """
        found = self._deviations()
        varies = np.abs(found.labels) > _EPSILON
        return np.where(varies, _divide(found.errors, found.labels), np.inf)

    @_quietly
    def pearson_correlation(self) -> NDArray[np.float64]:
        """Return the correlation of predictions with labels, shape (n_columns,).

        NaN for constant ones.
        """
        found = self._deviations()
        # Sums of a file may leave a little below zero for a constant column.
        scale = np.sqrt(np.maximum(found.labels, 0))
        scale *= np.sqrt(np.maximum(found.predictions, 0))
        return _divide(found.products, scale)

    @_quietly
    def r_squared(self) -> NDArray[np.float64]:
        """Return 1 - SSres / SStot, the coefficient of determination: (n_columns,)."""
        total = self._deviations().total
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
            + "".join(scientific_text(v, self.precision).ljust(width) for v in values)
            for name, *values in columns
        ]
        return "\n".join([head, *lines]) + "\n"

    def to_json(self) -> str:
        """Return DL4J's JSON, in which the sum of the labels stands twice."""
        return json_of("RegressionEvaluation", self)

    @classmethod
    def from_json(cls: type[R], text: str) -> R:
        """Return the evaluation that :meth:`to_json` or DL4J wrote.

        The sum of the labels is read from ``labelsSumPerColumn``: in the file of a
        merged evaluation DL4J's ``sumLabels`` is wrong or missing.

        Raises
        ------
        FormatError
            When the text is no such JSON or holds arrays that do not go together.
        """
        return of_json("RegressionEvaluation", cls, text)

    @classmethod
    def of(cls: type[R], sums: Sums, **options: Any) -> R:
        """Return the evaluation with sums that a file had; none for one without data.

        Raises
        ------
        FormatError
            When the sums have other sizes than there are columns.
        """
        evaluation = cls(**options)
        if sums:
            evaluation._sums = sums
            evaluation._moments = None
        sizes = {values.size for values in evaluation._sums.values()}
        if evaluation._sums and sizes != {len(evaluation.column_names)}:
            raise FormatError(
                "RegressionEvaluation: all arrays must have one value for each of "
                f"{len(evaluation.column_names)} columns, got sizes {sorted(sizes)}."
            )
        return evaluation

    def _sum(self, name: str) -> NDArray[np.float64]:
        return self._sums[name] if self._sums else np.zeros(0)

    def _deviations(self) -> Deviations:
        if self._moments is None:
            return deviations_of(self._sums)
        known = self._moments
        return Deviations(
            errors=self._sum("squared_errors"),
            labels=known.label_squares,
            predictions=known.prediction_squares,
            products=known.products,
            total=known.label_squares,
        )

    def _start(self, n_columns: int) -> None:
        self._sums = {name: np.zeros(n_columns) for name in SUMS}
        self._moments = PairMoments.nothing(n_columns)

    def _start_or_check(self, n_columns: int) -> None:
        if not self._sums:
            self._start(n_columns)
        if n_columns != self.n_columns:
            raise ShapeError(
                f"RegressionEvaluation: labels must have {self.n_columns} columns, "
                f"got {n_columns}."
            )

    @_quietly
    def _count(
        self,
        labels: NDArray[np.float64],
        predictions: NDArray[np.float64],
        kept: NDArray[np.bool_] | None,
    ) -> None:
        sums = sums_of(labels, predictions, kept)
        self._add(sums, PairMoments.of(labels, predictions, kept))

    @_quietly
    def _add(self, sums: Sums, moments: PairMoments | None) -> None:
        # First the moments: those of a file come from the sums as they are.
        if not self.example_count.any():
            self._moments = moments
        elif sums["count"].any():
            ours = moments_of(self._sums) if self._moments is None else self._moments
            theirs = moments_of(sums) if moments is None else moments
            self._moments = ours.merge(theirs)
        self._sums = merged_sums(self._sums, sums)


def _divide(
    above: NDArray[np.float64], below: NDArray[np.float64]
) -> NDArray[np.float64]:
    with np.errstate(divide="ignore", invalid="ignore"):
        return above / below
