"""A ROC for each column: of independent outputs, or of each class against the rest."""

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from daskdl.checks import check_at_least, check_index
from daskdl.dialects import EXACT
from daskdl.errors import ShapeError
from daskdl.evaluation.curves import PrecisionRecallCurve, RocCurve
from daskdl.evaluation.evaluable import Evaluable
from daskdl.evaluation.roc import ROC, USE_EXACT
from daskdl.evaluation.rows import as_probabilities, unmasked_rows

C = TypeVar("C", bound="ColumnRocs")

# The least width of a column of names in DL4J's reports, and what stands around it.
_NAME_WIDTH, _NAME_MARGIN = 15, 5


class ColumnRocs(Evaluable):
    """The base of :class:`ROCBinary` and :class:`ROCMultiClass`: a ROC a column.

    Parameters
    ----------
    threshold_steps : int
        See :class:`~daskdl.evaluation.roc.ROC`; 0 is exact.
    roc_remove_redundant_pts : bool
        See :class:`~daskdl.evaluation.roc.ROC`.
    labels : sequence of str, optional
        Names of the columns in :meth:`stats`; their numbers unless given.
    axis : int
        Axis of the columns: 1 for DL4J's NCW and NCHW, 2 and 3 for NWC and NHWC.
    dialect : str
        See :class:`~daskdl.evaluation.roc.ROC`.

    Attributes
    ----------
    rocs : list of ROC
        One a column; empty while the number of columns is not known.
    """

    METRICS = ("AUROC", "AUPRC")

    def __init__(
        self,
        threshold_steps: int = 0,
        *,
        roc_remove_redundant_pts: bool = True,
        labels: Sequence[str] | None = None,
        axis: int = 1,
        dialect: str = EXACT,
    ) -> None:
        # A ROC checks its own options.
        empty = ROC(
            threshold_steps,
            roc_remove_redundant_pts=roc_remove_redundant_pts,
            dialect=dialect,
        )
        self.dialect = dialect
        self.threshold_steps = empty.threshold_steps
        self.roc_remove_redundant_pts = roc_remove_redundant_pts
        self.labels = list(labels) if labels is not None else None
        self.axis = int(check_at_least(self._who, "axis", axis, 1))
        self.rocs: list[ROC] = []

    @property
    def _who(self) -> str:
        return type(self).__name__

    def eval(self, labels: Any, predictions: Any, mask: Any = None) -> None:
        """Count a batch.

        Parameters
        ----------
        labels, predictions : ndarray of shape (batch, n), (batch, n, time) or
            (batch, n, height, width)
            One column an output or a class.
        mask : ndarray, optional
            One value an example or a position, and for `ROCBinary` also one an output;
            0 drops it.

        Raises
        ------
        ShapeError
            When shapes do not go together.
        DataError
            When a label or a prediction that counts is NaN, or there are thresholds
            and a prediction is not from 0 to 1.
        """
        label_rows, rows, kept = unmasked_rows(
            self._who, labels, predictions, mask, self.axis
        )
        if kept is not None:
            self._check_output_mask(np.shape(mask))
        if self.threshold_steps:
            rows = as_probabilities(self._who, rows, kept, USE_EXACT)
        self._start_or_check(rows.shape[1])
        positive = label_rows > 0.5
        for i, roc in enumerate(self.rocs):
            chosen = slice(None) if kept is None else kept[:, i]
            roc.count(positive[chosen, i], rows[chosen, i])

    def merge(self, other: Evaluable) -> None:
        """Add the examples of another evaluation, which is not changed.

        Raises
        ------
        OptionError
            When the other one is of another class or has other thresholds.
        ShapeError
            When it has another number of columns.
        """
        other = self._of_same_class(other)
        self.labels = self.labels or other.labels
        if not other.rocs:
            return
        self._start_or_check(len(other.rocs))
        for roc, more in zip(self.rocs, other.rocs, strict=True):
            roc.merge(more)

    def new_instance(self: C) -> C:
        """Return an evaluation with the same options and no data."""
        return type(self)(
            self.threshold_steps,
            roc_remove_redundant_pts=self.roc_remove_redundant_pts,
            labels=self.labels,
            axis=self.axis,
            dialect=self.dialect,
        )

    def roc(self, column: int) -> ROC:
        """Return the ROC of a column.

        Raises
        ------
        OptionError
            When there is no such column, or no data yet.
        """
        return self.rocs[check_index(self._who, "column", column, len(self.rocs))]

    def roc_curve(self, column: int) -> RocCurve:
        """Return the ROC curve of a column."""
        return self.roc(column).roc_curve()

    def precision_recall_curve(self, column: int) -> PrecisionRecallCurve:
        """Return the precision/recall curve of a column."""
        return self.roc(column).precision_recall_curve()

    def auc(self, column: int) -> float:
        """Return the area under the ROC curve of a column."""
        return self.roc(column).auc()

    def auprc(self, column: int) -> float:
        """Return the area under the precision/recall curve of a column."""
        return self.roc(column).auprc()

    def average_auc(self) -> float:
        """Return the mean area under the ROC curves; NaN without data."""
        return _mean([roc.auc() for roc in self.rocs])

    def average_auprc(self) -> float:
        """Return the mean area under the precision/recall curves; NaN without data."""
        return _mean([roc.auprc() for roc in self.rocs])

    def score_for_metric(self, metric: str, column: int | None = None) -> float:
        """Return a metric by its DL4J name, of a column or the mean over columns."""
        if self._check_metric(metric) == "AUROC":
            return self.average_auc() if column is None else self.auc(column)
        return self.average_auprc() if column is None else self.auprc(column)

    def _check_output_mask(self, shape: tuple[int, ...]) -> None:
        raise ShapeError(
            f"{self._who}: mask must have one value an example or a position, got one "
            f"an output, shape {shape}."
        )

    def _start_or_check(self, n_columns: int) -> None:
        if not self.rocs:
            if self.labels is not None and len(self.labels) != n_columns:
                raise ShapeError(
                    f"{self._who}: labels must have {len(self.labels)} columns, one a "
                    f"name, got {n_columns}."
                )
            self.rocs = [
                ROC(
                    self.threshold_steps,
                    roc_remove_redundant_pts=self.roc_remove_redundant_pts,
                    dialect=self.dialect,
                )
                for _ in range(n_columns)
            ]
        if n_columns != len(self.rocs):
            raise ShapeError(
                f"{self._who}: labels must have {len(self.rocs)} columns, "
                f"got {n_columns}."
            )

    def _row_names(self) -> list[str]:
        return self.labels or [str(i) for i in range(len(self.rocs))]


def name_width(names: Sequence[str]) -> int:
    """Return the width of the column of names in DL4J's reports."""
    return max([_NAME_WIDTH, *map(len, names)]) + _NAME_MARGIN


def _mean(values: Sequence[float]) -> float:
    # Added in order: DL4J's own sum, to the last digit.
    return sum(values) / len(values) if values else float("nan")
