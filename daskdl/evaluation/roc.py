"""ROC and precision/recall of one binary output, exact or at fixed thresholds."""

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from daskdl.arrays.namespace import FloatArray
from daskdl.checks import check_at_least
from daskdl.dialects import DL4J, EXACT, quirks_of
from daskdl.errors import OptionError, ShapeError
from daskdl.evaluation.curves import (
    Counts,
    Curves,
    PrecisionRecallCurve,
    RocCurve,
    Row,
    StoredRoc,
)
from daskdl.evaluation.evaluable import Evaluable
from daskdl.evaluation.json_text import json_of, of_json
from daskdl.evaluation.number_texts import number_text
from daskdl.evaluation.roc_points import (
    exact_precision_recall,
    exact_roc,
    examples_of,
    thresholded_precision_recall,
    thresholded_roc,
)
from daskdl.evaluation.rows import as_probabilities, unmasked_rows

R = TypeVar("R", bound="ROC")

# More would be finer than a double tells probabilities near 1 apart.
_MOST_STEPS = 2**31 - 1

# Thresholds are from 0 to 1, and tell scores of another range nothing.
USE_EXACT = "An exact ROC, of threshold_steps 0, takes any scores."


class ROC(Evaluable):
    """Receiver operating characteristic of one column, or of the second of two.

    Parameters
    ----------
    threshold_steps : int
        Count at the thresholds 0, 1 / n, ..., 1, which takes probabilities only; 0
        keeps every one and is exact, at up to nine bytes an example, and takes any
        scores.
    roc_remove_redundant_pts : bool
        Leave points out of exact curves that lie between two of the same rate. The
        areas stay the same.
    axis : int
        Axis of the outputs: 1 for DL4J's NCW and NCHW, 2 and 3 for NWC and NHWC.
    dialect : str
        ``"exact"``, or ``"dl4j-1.0.0-M2.1"``, which counts as DL4J does and is what its
        JSON has; see ``docs/dl4j-quirks.md``.

    Notes
    -----
    An example is positive if its label is above 0.5. Probabilities are compared with
    the thresholds in their own precision. Exact curves have a point a probability. In
    DL4J they have one an example, so that where probabilities are equal the areas
    depend on the order of the examples, and so on the order of merging.

    The JSON of an exact ROC holds its curves. If points were left out of them, its
    examples are lost: read from a file, it can neither go on counting nor be merged
    with data. Pickle keeps everything.
    """

    METRICS = ("AUROC", "AUPRC")

    def __init__(
        self,
        threshold_steps: int = 0,
        roc_remove_redundant_pts: bool = True,
        *,
        axis: int = 1,
        dialect: str = EXACT,
    ) -> None:
        steps = int(check_at_least("ROC", "threshold_steps", threshold_steps, 0))
        if steps > _MOST_STEPS:
            raise OptionError(
                f"ROC: threshold_steps must be at most {_MOST_STEPS}, got {steps}."
            )
        self.threshold_steps = steps
        self.roc_remove_redundant_pts = roc_remove_redundant_pts
        self.axis = int(check_at_least("ROC", "axis", axis, 1))
        self.dialect = dialect
        self._ties_apart = "roc_point_per_example" in quirks_of(dialect)
        self.count_actual_positive = 0
        self.count_actual_negative = 0
        self._probabilities: list[FloatArray] = []
        self._positives: list[NDArray[np.bool_]] = []
        self._curves_read: Curves | None = None
        n_thresholds = 0 if self.is_exact else steps + 1
        self._true_positives: Counts = np.zeros(n_thresholds, np.int64)
        self._false_positives: Counts = np.zeros(n_thresholds, np.int64)

    @property
    def is_exact(self) -> bool:
        """Whether every probability is kept."""
        return self.threshold_steps == 0

    @property
    def example_count(self) -> int:
        """Number of rows counted."""
        return self.count_actual_positive + self.count_actual_negative

    def eval(self, labels: Any, predictions: Any, mask: Any = None) -> None:
        """Count a batch.

        Parameters
        ----------
        labels, predictions : ndarray of shape (batch, n), (batch, n, time) or
            (batch, n, height, width)
            `n` is 1, or 2 where the second column is that of the positive class.
        mask : ndarray, optional
            One value an example or a position; 0 drops it.

        Raises
        ------
        ShapeError
            When shapes do not go together, or there are more than two columns.
        DataError
            When a label or a prediction that counts is NaN, or there are thresholds
            and a prediction is not from 0 to 1.
        OptionError
            When this was read from a file without examples.
        """
        label_rows, rows, output_mask = unmasked_rows(
            "ROC", labels, predictions, mask, self.axis
        )
        if rows.shape[1] > 2 or output_mask is not None:
            raise ShapeError(
                "ROC: labels must have 1 or 2 columns and a mask one value an example "
                f"or a position, got shapes {np.shape(labels)} and {np.shape(mask)}. "
                "ROCBinary takes independent outputs, ROCMultiClass takes classes."
            )
        if not self.is_exact:
            rows = as_probabilities("ROC", rows, None, USE_EXACT)
        self.count(label_rows[:, -1] > 0.5, rows[:, -1])

    def count(self, positive: NDArray[np.bool_], probability: FloatArray) -> None:
        """Count rows that are known to be right.

        Parameters
        ----------
        positive, probability : ndarray of shape (rows,)
            Which rows are positive, and their predicted probability, from 0 to 1 if
            there are thresholds. Kept if exact.
        """
        self._refuse_without_examples()
        n_positive = int(positive.sum())
        self.count_actual_positive += n_positive
        self.count_actual_negative += positive.size - n_positive
        if self.is_exact:
            self._probabilities.append(probability.copy())
            self._positives.append(positive)
            return
        n_above = _thresholds_reached(probability, self._thresholds())
        self._true_positives += _at_least(n_above[positive], self.threshold_steps)
        self._false_positives += _at_least(n_above[~positive], self.threshold_steps)

    def merge(self, other: Evaluable) -> None:
        """Add the examples of another ROC, which is not changed.

        Raises
        ------
        OptionError
            When the other one is no `ROC`, has other thresholds, or either was read
            from a file without examples.
        """
        other = self._of_same_class(other)
        if other.threshold_steps != self.threshold_steps:
            raise OptionError(
                f"ROC: threshold_steps must be {self.threshold_steps} to be merged, "
                f"got {other.threshold_steps}."
            )
        if not other.example_count:
            return
        if self._curves_read is not None or other._curves_read is not None:
            if self.example_count:
                self._refuse_without_examples()
                other._refuse_without_examples()
            self._curves_read = other._curves_read
        self.count_actual_positive += other.count_actual_positive
        self.count_actual_negative += other.count_actual_negative
        self._probabilities += other._probabilities
        self._positives += other._positives
        self._true_positives += other._true_positives
        self._false_positives += other._false_positives

    def new_instance(self) -> "ROC":
        """Return a ROC with the same options and no data."""
        return ROC(
            self.threshold_steps,
            roc_remove_redundant_pts=self.roc_remove_redundant_pts,
            axis=self.axis,
            dialect=self.dialect,
        )

    def roc_curve(self) -> RocCurve:
        """Return the ROC curve.

        Raises
        ------
        OptionError
            When nothing was counted yet.
        """
        self._refuse_without_data()
        if self._curves_read is not None:
            return self._curves_read.roc
        if self.is_exact:
            return exact_roc(
                *self._examples(),
                remove_redundant=self.roc_remove_redundant_pts,
                ties_apart=self._ties_apart,
            )
        return thresholded_roc(
            self._thresholds(),
            self._true_positives,
            self._false_positives,
            n_positive=self.count_actual_positive,
            n_negative=self.count_actual_negative,
        )

    def precision_recall_curve(self) -> PrecisionRecallCurve:
        """Return the precision/recall curve.

        Raises
        ------
        OptionError
            When nothing was counted yet.
        """
        self._refuse_without_data()
        if self._curves_read is not None:
            return self._curves_read.precision_recall
        if self.is_exact:
            return exact_precision_recall(
                *self._examples(),
                remove_redundant=self.roc_remove_redundant_pts,
                ties_apart=self._ties_apart,
            )
        return thresholded_precision_recall(
            self._thresholds(),
            self._true_positives,
            self._false_positives,
            n_positive=self.count_actual_positive,
            n_total=self.example_count,
        )

    def auc(self) -> float:
        """Return the area under the ROC curve; NaN without data or of one class."""
        return self.roc_curve().area() if self.example_count else float("nan")

    def auprc(self) -> float:
        """Return the area under the precision/recall curve; NaN without data."""
        if not self.example_count:
            return float("nan")
        return self.precision_recall_curve().area()

    def score_for_metric(self, metric: str) -> float:
        """Return a metric by its DL4J name; see ``METRICS``."""
        return self.auc() if self._check_metric(metric) == "AUROC" else self.auprc()

    def stats(self) -> str:
        """Return the report that DL4J prints."""
        text = (
            f"AUC (Area under ROC Curve):                {number_text(self.auc())}\n"
            f"AUPRC (Area under Precision/Recall Curve): {number_text(self.auprc())}"
        )
        return text + thresholded_note(self.threshold_steps)

    def to_json(self) -> str:
        """Return DL4J's JSON, byte for byte."""
        return json_of("ROC", self)

    @classmethod
    def from_json(cls: type[R], text: str) -> R:
        """Return the ROC that :meth:`to_json` or DL4J wrote.

        Raises
        ------
        FormatError
            When the text is no such JSON or holds impossible values.
        """
        return of_json("ROC", cls, text)

    @classmethod
    def of(cls: type[R], stored: StoredRoc) -> R:
        """Return the ROC that a file tells of, with its examples if they are there."""
        roc = cls(
            stored.threshold_steps,
            roc_remove_redundant_pts=stored.roc_remove_redundant_pts,
            dialect=DL4J,
        )
        if stored.true_positives is not None and stored.false_positives is not None:
            roc._true_positives = stored.true_positives
            roc._false_positives = stored.false_positives
        if stored.curves is not None:
            found = examples_of(
                stored.curves.precision_recall,
                has_all_points=not stored.roc_remove_redundant_pts,
            )
            if found is None:
                roc._curves_read = stored.curves
            else:
                roc._probabilities, roc._positives = [found[0]], [found[1] > 0.5]
        roc.count_actual_positive = stored.count_actual_positive
        roc.count_actual_negative = stored.count_actual_negative
        return roc

    def counts(self) -> tuple[Row, Counts, Counts]:
        """Return thresholds, true and false positives, each (steps + 1,).

        They are of shape (0,) for an exact ROC.
        """
        return self._thresholds(), self._true_positives, self._false_positives

    def _thresholds(self) -> Row:
        if self.is_exact:
            return np.zeros(0)
        # Not i / n: DL4J's 3 of 10 is 0.30000000000000004, and the name of its counts.
        step = 1.0 / self.threshold_steps
        return np.arange(self.threshold_steps + 1, dtype=np.float64) * step

    def _examples(self) -> tuple[Row, Row]:
        # Joined once: curves and areas ask again and again.
        if len(self._probabilities) > 1:
            self._probabilities = [np.concatenate(self._probabilities)]
            self._positives = [np.concatenate(self._positives)]
        return (
            self._probabilities[0].astype(np.float64),
            self._positives[0].astype(np.float64),
        )

    def _refuse_without_data(self) -> None:
        if not self.example_count:
            raise OptionError(
                "ROC: a curve must have examples, got none. Call eval first."
            )

    def _refuse_without_examples(self) -> None:
        if self._curves_read is not None:
            raise OptionError(
                "ROC: more can be counted only with the examples so far, got the "
                "curves of a JSON file. Use threshold_steps, "
                "roc_remove_redundant_pts=False or pickle."
            )


def thresholded_note(steps: int) -> str:
    """Return the line that DL4J ends the report of fixed thresholds with."""
    if not steps:
        return ""
    return (
        f"\n[Note: Thresholded AUC/AUPRC calculation used with {steps} steps); "
        "accuracy may reduced compared to exact mode]"
    )


def _thresholds_reached(probability: FloatArray, thresholds: Row) -> NDArray[np.intp]:
    """Return the number of thresholds that each probability reaches, shape (rows,)."""
    own = thresholds.astype(probability.dtype)
    # Nothing is predicted positive at threshold 1, not even a probability of 1: a curve
    # begins where nothing is.
    below_one = own[own < 1]
    return np.searchsorted(below_one, probability, side="right")


def _at_least(n_reached: NDArray[np.intp], steps: int) -> Counts:
    """Return the number of rows that reach each threshold, of shape (steps + 1,)."""
    rows = np.bincount(n_reached, minlength=steps + 2)
    reached: Counts = np.cumsum(rows[::-1])[::-1][1:].astype(np.int64)
    return reached
