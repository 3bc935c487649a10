"""Calibration: agreement of predicted probabilities with observed shares."""

from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from daskdl.arrays.namespace import FloatArray
from daskdl.checks import check_at_least, check_count, check_index
from daskdl.errors import FormatError, OptionError, ShapeError
from daskdl.evaluation.curves import Histogram, ReliabilityDiagram
from daskdl.evaluation.evaluable import Evaluable
from daskdl.evaluation.json_text import json_of, of_json
from daskdl.evaluation.rows import as_probabilities, unmasked_rows

Sums = NDArray[np.float64]
C = TypeVar("C", bound="EvaluationCalibration")


class EvaluationCalibration(Evaluable):
    """Reliability diagrams and histograms of probabilities and residuals.

    Parameters
    ----------
    reliability_diag_num_bins : int
        Bins of a reliability diagram, of equal width from 0 to 1.
    histogram_num_bins : int
        Bins of a histogram, of equal width from 0 to 1.
    exclude_empty_bins : bool
        Leave bins out of reliability diagrams that no probability fell into; else they
        are NaN.
    axis : int
        Axis of the classes: 1 for DL4J's NCW and NCHW, 2 and 3 for NWC and NHWC.

    Attributes
    ----------
    label_counts, prediction_counts : ndarray of shape (n_classes,), int64
        Rows that are of each class, and rows where it is the most probable one.

    Notes
    -----
    A row is of a class if its label is above 0.5. Probabilities are compared with the
    bins in their own precision. A residual above 1, of a label that is not from 0 to 1,
    is in no bin. Merging adds everything; DL4J forgets the histograms and counts an
    empty evaluation's other half twice.

    References
    ----------
    A. Niculescu-Mizil and R. Caruana, Predicting good probabilities with supervised
    learning (2005); B. C. Wallace and I. J. Dahabreh, Class probability estimates are
    unreliable for imbalanced data (2012).
    """

    def __init__(
        self,
        reliability_diag_num_bins: int = 10,
        histogram_num_bins: int = 50,
        *,
        exclude_empty_bins: bool = True,
        axis: int = 1,
    ) -> None:
        who = "EvaluationCalibration"
        self.reliability_diag_num_bins = check_count(
            who, "reliability_diag_num_bins", reliability_diag_num_bins
        )
        self.histogram_num_bins = check_count(
            who, "histogram_num_bins", histogram_num_bins
        )
        self.exclude_empty_bins = exclude_empty_bins
        self.axis = int(check_at_least(who, "axis", axis, 1))
        self._sums: dict[str, NDArray[Any]] = {}

    @property
    def n_classes(self) -> int:
        """Number of classes; 0 while it is not known."""
        return int(self._sums["label_counts"].size) if self._sums else 0

    @property
    def label_counts(self) -> NDArray[np.int64]:
        """Rows that are of each class, of shape (n_classes,)."""
        return self._sums.get("label_counts", np.zeros(0, np.int64))

    @property
    def prediction_counts(self) -> NDArray[np.int64]:
        """Rows where each class is the most probable, of shape (n_classes,)."""
        return self._sums.get("prediction_counts", np.zeros(0, np.int64))

    @property
    def sums(self) -> Mapping[str, NDArray[Any]]:
        """All that is counted, by name; nothing while there are no data."""
        return self._sums

    def eval(self, labels: Any, predictions: Any, mask: Any = None) -> None:
        """Count a batch.

        Parameters
        ----------
        labels, predictions : ndarray of shape (batch, n), (batch, n, time) or
            (batch, n, height, width)
            Classes as zeros and ones, and probabilities.
        mask : ndarray, optional
            One value an example or a position; 0 drops it.

        Raises
        ------
        ShapeError
            When shapes do not go together, or the mask has one value an output.
        DataError
            When a label or a prediction that counts is NaN, or a prediction is not
            from 0 to 1.
        """
        label_rows, rows, output_mask = unmasked_rows(
            "EvaluationCalibration", labels, predictions, mask, self.axis
        )
        if output_mask is not None:
            raise ShapeError(
                "EvaluationCalibration: mask must have one value an example or a "
                f"position, got one an output, shape {np.shape(mask)}."
            )
        hint = "The bins are of outputs like those of softmax or sigmoid."
        rows = as_probabilities("EvaluationCalibration", rows, None, hint)
        self._start_or_check(rows.shape[1])
        positive = label_rows > 0.5
        self._add_reliability(positive, rows)
        self._sums["label_counts"] += np.count_nonzero(positive, axis=0)
        self._sums["prediction_counts"] += np.bincount(
            rows.argmax(axis=1), minlength=rows.shape[1]
        )
        residuals = np.abs(label_rows.astype(rows.dtype) - rows)
        self._add_histogram("residual", positive, residuals)
        self._add_histogram("probability", positive, rows)

    def merge(self, other: Evaluable) -> None:
        """Add the counts of another evaluation, which is not changed.

        Raises
        ------
        OptionError
            When the other one is of another class or has other bins.
        ShapeError
            When it has another number of classes.
        """
        other = self._of_same_class(other)
        ours, theirs = self._bins(), other._bins()
        if ours != theirs:
            raise OptionError(
                f"EvaluationCalibration: bins must be {ours} to be merged, "
                f"got {theirs}."
            )
        if not other._sums:
            return
        self._start_or_check(other.n_classes)
        for name, more in other._sums.items():
            self._sums[name] += more

    def new_instance(self) -> "EvaluationCalibration":
        """Return an evaluation with the same options and no data."""
        return EvaluationCalibration(
            *self._bins(), exclude_empty_bins=self.exclude_empty_bins, axis=self.axis
        )

    def reliability_diagram(self, class_index: int) -> ReliabilityDiagram:
        """Return mean probability and share of positives in each bin, of a class.

        Raises
        ------
        OptionError
            When there is no such class, or no data yet.
        """
        self._check_class(class_index)
        total = self._sums["bin_total"][:, class_index]
        means, shares = (
            _ratio(self._sums[name][:, class_index], total)
            for name in ("bin_predictions", "bin_positive")
        )
        kept = total > 0 if self.exclude_empty_bins else slice(None)
        title = f"Reliability Diagram: Class {class_index}"
        return ReliabilityDiagram(title, means[kept], shares[kept])

    def expected_calibration_error(self, class_index: int) -> float:
        """Return the mean distance of predicted and true shares of a class, by bins.

        It is the mean of ``|share of positives - mean probability|`` over the bins,
        weighted with their examples; NaN if no probability fell into any.

        Raises
        ------
        OptionError
            When there is no such class, or no data yet.

        References
        ----------
        M. P. Naeini, G. F. Cooper, M. Hauskrecht, Obtaining well calibrated
        probabilities using Bayesian binning (2015), for one class instead of the
        most probable one. DL4J has no such method.
        """
        self._check_class(class_index)
        total = self._sums["bin_total"][:, class_index]
        gap = np.abs(
            self._sums["bin_positive"][:, class_index]
            - self._sums["bin_predictions"][:, class_index]
        )
        n_total = int(total.sum())
        return float(gap.sum()) / n_total if n_total else float("nan")

    def residual_plot(self, class_index: int | None = None) -> Histogram:
        """Return the histogram of ``|label - probability|``.

        Parameters
        ----------
        class_index : int, optional
            Only the residuals of this class where it is the right one; those of all
            classes in all rows unless given.

        Raises
        ------
        OptionError
            When there is no such class, or no data yet.
        """
        title = "Residual Plot - All Predictions and Classes"
        if class_index is not None:
            title = f"Residual Plot - Predictions for Label Class {class_index}"
        return self._histogram("residual", class_index, title)

    def probability_histogram(self, class_index: int | None = None) -> Histogram:
        """Return the histogram of the probabilities.

        Parameters
        ----------
        class_index : int, optional
            Only the probabilities of this class where it is the right one; those of
            all classes in all rows unless given.

        Raises
        ------
        OptionError
            When there is no such class, or no data yet.
        """
        head = "Network Probabilities Histogram"
        title = f"{head} - All Predictions and Classes"
        if class_index is not None:
            title = (
                f"{head} - P(class {class_index}) - Data Labelled Class "
                f"{class_index} Only"
            )
        return self._histogram("probability", class_index, title)

    def score_for_metric(self, metric: str) -> float:
        """Refuse every name: DL4J has no single number for calibration.

        Raises
        ------
        OptionError
            Always.
        """
        raise OptionError(
            f"EvaluationCalibration: there are no metrics, got {metric!r}. Use its "
            "diagrams and histograms."
        )

    def stats(self) -> str:
        """Return the line that DL4J prints."""
        return f"EvaluationCalibration(nBins={self.reliability_diag_num_bins})"

    def to_json(self) -> str:
        """Return DL4J's JSON."""
        return json_of("EvaluationCalibration", self)

    @classmethod
    def from_json(cls: type[C], text: str) -> C:
        """Return the evaluation that :meth:`to_json` or DL4J wrote.

        Raises
        ------
        FormatError
            When the text is no such JSON or holds impossible values.
        """
        return of_json("EvaluationCalibration", cls, text)

    @classmethod
    def of(cls: type[C], sums: Mapping[str, NDArray[Any]], **options: Any) -> C:
        """Return the evaluation with sums that a file had; none for one without data.

        Raises
        ------
        FormatError
            When the sums and the options do not go together.
        """
        evaluation = cls(**options)
        if not sums:
            return evaluation
        shapes = evaluation._shapes(sums["label_counts"].size)
        for name, (shape, _) in shapes.items():
            if sums[name].shape != shape:
                raise FormatError(
                    f"EvaluationCalibration: {name} must have shape {shape} for these "
                    f"bins and classes, got {sums[name].shape}."
                )
        evaluation._sums = dict(sums)
        return evaluation

    def _bins(self) -> tuple[int, int]:
        return self.reliability_diag_num_bins, self.histogram_num_bins

    def _add_reliability(self, positive: NDArray[np.bool_], rows: FloatArray) -> None:
        bins = self.reliability_diag_num_bins
        bin_of = _bin_of(rows, bins)
        for i in range(bins):
            inside = bin_of == i
            self._sums["bin_total"][i] += np.count_nonzero(inside, axis=0)
            self._sums["bin_positive"][i] += np.count_nonzero(inside & positive, axis=0)
            # Summed row by row in the type of the predictions, as DL4J does.
            self._sums["bin_predictions"][i] += np.where(inside, rows, 0).sum(axis=0)

    def _add_histogram(
        self, name: str, positive: NDArray[np.bool_], values: FloatArray
    ) -> None:
        bins, n_classes = self.histogram_num_bins, values.shape[1]
        bin_of = _bin_of(values, bins)
        inside = (bin_of >= 0) & (bin_of < bins)
        self._sums[f"{name}_all"] += np.bincount(bin_of[inside], minlength=bins)
        cells = bin_of * n_classes + np.arange(n_classes)
        counted = np.bincount(cells[inside & positive], minlength=bins * n_classes)
        self._sums[f"{name}_by_class"] += counted.reshape(bins, n_classes)

    def _histogram(self, name: str, class_index: int | None, title: str) -> Histogram:
        if class_index is None:
            self._check_class(0)
            counts = self._sums[f"{name}_all"]
        else:
            self._check_class(class_index)
            counts = self._sums[f"{name}_by_class"][:, class_index]
        return Histogram(title, 0.0, 1.0, counts.astype(np.int64))

    def _check_class(self, class_index: int) -> None:
        check_index("EvaluationCalibration", "class_index", class_index, self.n_classes)

    def _start_or_check(self, n_classes: int) -> None:
        if not self._sums:
            self._sums = {
                name: np.zeros(shape, dtype)
                for name, (shape, dtype) in self._shapes(n_classes).items()
            }
        if n_classes != self.n_classes:
            raise ShapeError(
                f"EvaluationCalibration: labels must have {self.n_classes} classes, "
                f"got {n_classes}."
            )

    def _shapes(self, n_classes: int) -> dict[str, tuple[tuple[int, ...], type]]:
        bins, histogram_bins = self._bins()
        return {
            "bin_positive": ((bins, n_classes), np.int64),
            "bin_total": ((bins, n_classes), np.int64),
            "bin_predictions": ((bins, n_classes), np.float64),
            "label_counts": ((n_classes,), np.int64),
            "prediction_counts": ((n_classes,), np.int64),
            # Doubles in DL4J, though they count.
            "residual_all": ((histogram_bins,), np.float64),
            "residual_by_class": ((histogram_bins, n_classes), np.float64),
            "probability_all": ((histogram_bins,), np.float64),
            "probability_by_class": ((histogram_bins, n_classes), np.float64),
        }


def _bin_of(values: FloatArray, bins: int) -> NDArray[np.intp]:
    """Return the bin of each value, -1 or `bins` for values outside."""
    width = 1.0 / bins
    edges = (np.arange(bins) * width).astype(values.dtype)
    bin_of = np.searchsorted(edges, values, side="right") - 1
    bin_of[values > 1] = bins
    return bin_of


def _ratio(above: NDArray[Any], below: NDArray[np.int64]) -> Sums:
    ratio = np.full(below.shape, np.nan)
    np.divide(above, below, out=ratio, where=below != 0)
    return ratio
