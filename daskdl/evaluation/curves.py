"""Curves of ROC and calibration, histograms, reliability diagrams.

Values with names; how they are computed stands in
:mod:`daskdl.evaluation.roc_points` and :mod:`daskdl.evaluation.calibration`.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from daskdl.checks import check_index
from daskdl.errors import OptionError

Row = NDArray[np.float64]
Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class RocCurve:
    """Receiver operating characteristic.

    Attributes
    ----------
    threshold : ndarray of shape (points,), float64
        Probability from which on the positive class is predicted.
    fpr, tpr : ndarray of shape (points,), float64
        False and true positive rate at each threshold; NaN without negatives or
        positives.
    """

    threshold: Row
    fpr: Row
    tpr: Row

    def area(self) -> float:
        """Return the area under the curve by the trapezoidal rule."""
        return trapezoid(self.fpr, self.tpr)

    def optimal_threshold(self) -> float:
        """Return the threshold of the largest ``tpr - fpr``; NaN if none is known.

        References
        ----------
        W. J. Youden, Index for rating diagnostic tests, Cancer 3 (1950). DL4J has no
        such method.
        """
        return _threshold_of_largest(self.threshold, self.tpr - self.fpr)


@dataclass(frozen=True)
class CurvePoint:
    """A point of a precision/recall curve: its index and its values."""

    index: int
    threshold: float
    precision: float
    recall: float


@dataclass(frozen=True)
class BinaryConfusion:
    """Outcomes at a point of a precision/recall curve."""

    point: CurvePoint
    true_positives: int
    false_positives: int
    false_negatives: int
    true_negatives: int


@dataclass(frozen=True, eq=False)
class PrecisionRecallCurve:
    """Precision over recall, thresholds ascending.

    Attributes
    ----------
    threshold, precision, recall : ndarray of shape (points,), float64
        Precision and recall when the positive class is predicted from `threshold` on.
    tp_count, fp_count, fn_count : ndarray of shape (points,), int64
        True positives, false positives and false negatives there.
    total_count : int
        Number of examples.
    """

    threshold: Row
    precision: Row
    recall: Row
    tp_count: Counts
    fp_count: Counts
    fn_count: Counts
    total_count: int

    def area(self) -> float:
        """Return the area under the curve by the trapezoidal rule."""
        return trapezoid(self.recall, self.precision)

    def optimal_threshold(self) -> float:
        """Return the threshold of the largest F1; NaN if none is known."""
        both = self.precision + self.recall
        f1 = np.full(both.shape, np.nan)
        np.divide(2 * self.precision * self.recall, both, out=f1, where=both > 0)
        return _threshold_of_largest(self.threshold, f1)

    def point(self, index: int) -> CurvePoint:
        """Return the point of an index, which may not be negative.

        Raises
        ------
        OptionError
            When there is no such point.
        """
        index = check_index("PrecisionRecallCurve", "index", index, self.threshold.size)
        return CurvePoint(
            index,
            float(self.threshold[index]),
            float(self.precision[index]),
            float(self.recall[index]),
        )

    def point_at_threshold(self, threshold: float) -> CurvePoint:
        """Return the point of the lowest threshold that is at least `threshold`.

        Raises
        ------
        OptionError
            When no threshold is as high.
        """
        found = np.flatnonzero(self.threshold >= threshold)
        if not found.size:
            raise OptionError(
                f"PrecisionRecallCurve: threshold must be at most "
                f"{self.threshold.max(initial=0.0)}, got {threshold!r}."
            )
        return self.point(int(found[0]))

    def point_at_precision(self, precision: float) -> CurvePoint:
        """Return the point of the lowest threshold with at least this precision.

        It is the last point if none has it.
        """
        found = np.flatnonzero(self.precision >= precision)
        return self.point(int(found[0]) if found.size else self.threshold.size - 1)

    def point_at_recall(self, recall: float) -> CurvePoint:
        """Return the point of the highest threshold with at least this recall.

        Among points of that same recall it is the one of the highest precision, the
        lowest threshold of those; the first point if none has it.
        """
        found = np.flatnonzero(self.recall >= recall)
        if not found.size:
            return self.point(0)
        same = np.flatnonzero(self.recall == self.recall[found[-1]])
        same = same[same <= found[-1]]
        return self.point(int(same[self.precision[same].argmax()]))

    def confusion_at_threshold(self, threshold: float) -> BinaryConfusion:
        """Return the outcomes at the point of :meth:`point_at_threshold`."""
        point = self.point_at_threshold(threshold)
        positives = (self.tp_count, self.fp_count, self.fn_count)
        tp, fp, fn = (int(counts[point.index]) for counts in positives)
        return BinaryConfusion(point, tp, fp, fn, self.total_count - tp - fp - fn)


@dataclass(frozen=True, eq=False)
class ReliabilityDiagram:
    """Shares of positive rows by predicted probability, of one class.

    Attributes
    ----------
    title : str
    mean_predicted_value : ndarray of shape (bins,), float64
        Mean of the predicted probabilities in each bin.
    fraction_positives : ndarray of shape (bins,), float64
        Share of the examples in each bin that are of the class.
    """

    title: str
    mean_predicted_value: Row
    fraction_positives: Row


@dataclass(frozen=True, eq=False)
class Histogram:
    """Counts in bins of equal width.

    Attributes
    ----------
    title : str
    lower, upper : float
        Ends of the first and the last bin.
    counts : ndarray of shape (bins,), int64
    """

    title: str
    lower: float
    upper: float
    counts: Counts


@dataclass(frozen=True)
class Curves:
    """Both curves of an exact ROC."""

    roc: RocCurve
    precision_recall: PrecisionRecallCurve


@dataclass(frozen=True)
class StoredRoc:
    """A ROC read from a file: counts at thresholds, or curves if it is exact."""

    threshold_steps: int
    roc_remove_redundant_pts: bool
    count_actual_positive: int
    count_actual_negative: int
    true_positives: Counts | None
    false_positives: Counts | None
    curves: Curves | None


def trapezoid(x: Row, y: Row) -> float:
    """Return the area under the points, 0.0 for fewer than two.

    `x` and `y` are of shape (points,). The terms are added one after the other, as in
    DL4J: NumPy's own sum differs from it in the last digit.
    """
    terms = np.abs(np.diff(x)) * ((y[1:] + y[:-1]) / 2.0)
    return float(np.cumsum(terms)[-1]) if terms.size else 0.0


def _threshold_of_largest(threshold: Row, score: Row) -> float:
    if not np.isfinite(score).any():
        return float("nan")
    return float(threshold[np.nanargmax(score)])
