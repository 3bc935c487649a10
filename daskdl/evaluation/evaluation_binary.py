"""Evaluation of independent binary outputs, each for itself."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from daskdl.arrays.namespace import FloatArray
from daskdl.checks import check_at_least, check_count, check_index
from daskdl.dialects import EXACT
from daskdl.errors import OptionError, ShapeError
from daskdl.evaluation.binary_report import binary_report
from daskdl.evaluation.counts import ClassCounts, Rates, mean_of_all
from daskdl.evaluation.evaluable import Evaluable
from daskdl.evaluation.json_text import json_of, of_json
from daskdl.evaluation.roc_binary import ROCBinary
from daskdl.evaluation.rows import unmasked_rows

B = TypeVar("B", bound="EvaluationBinary")


@dataclass(frozen=True)
class StoredBinary:
    """An evaluation of binary outputs, read from a file."""

    counts: NDArray[np.int64] | None
    roc_binary: ROCBinary | None
    labels: list[str] | None
    decision_threshold: FloatArray | None
    axis: int


class EvaluationBinary(Evaluable):
    """Accuracy, precision, recall, F1 and more of several binary outputs.

    An output is predicted positive if its probability is above its threshold, 0.5
    unless given; its label is positive above 0.5.

    Parameters
    ----------
    n_outputs : int, optional
        Found from the first batch unless given.
    roc_binary_steps : int, optional
        Also fill a :class:`~daskdl.evaluation.roc_binary.ROCBinary` with as many
        threshold steps, 0 for an exact one.
    decision_threshold : array-like of shape (n_outputs,), optional
        Thresholds from 0 to 1. Kept as float32, as in DL4J, if no float64 array.
    labels : sequence of str, optional
        Names of the outputs in :meth:`stats`; their numbers unless given.
    axis : int
        Axis of the outputs: 1 for DL4J's NCW and NCHW, 2 and 3 for NWC and NHWC.
    dialect : str
        Of `roc_binary`.

    Attributes
    ----------
    roc_binary : ROCBinary or None
        Filled along with the counts, if asked for.

    Notes
    -----
    Each rate is an array of shape (n_outputs,). As in DL4J precision, recall and
    accuracy are NaN for 0 / 0, and so is a mean over outputs with such a one; the false
    positive and negative rates are 0.0 then.
    """

    METRICS = ("ACCURACY", "F1", "PRECISION", "RECALL", "GMEASURE", "MCC", "FAR")

    def __init__(
        self,
        n_outputs: int | None = None,
        roc_binary_steps: int | None = None,
        *,
        decision_threshold: ArrayLike | None = None,
        labels: Sequence[str] | None = None,
        axis: int = 1,
        dialect: str = EXACT,
    ) -> None:
        who = "EvaluationBinary"
        if n_outputs is not None:
            check_count(who, "n_outputs", n_outputs)
        self.axis = int(check_at_least(who, "axis", axis, 1))
        self.decision_threshold = _check_thresholds(decision_threshold)
        self.labels = list(labels) if labels is not None else None
        self.roc_binary = (
            None
            if roc_binary_steps is None
            else ROCBinary(roc_binary_steps, dialect=dialect)
        )
        self._n_outputs_given = n_outputs
        self._counts: NDArray[np.int64] | None = None
        if n_outputs is not None:
            self._start_or_check(n_outputs)

    @property
    def n_outputs(self) -> int:
        """Number of outputs; 0 while it is not known."""
        return 0 if self._counts is None else self._counts.shape[1]

    @property
    def counts(self) -> ClassCounts:
        """True and false positives and negatives per output."""
        rows = np.zeros((4, 0), np.int64) if self._counts is None else self._counts
        return ClassCounts(*rows)

    @property
    def total_count(self) -> NDArray[np.int64]:
        """Rows counted for each output, of shape (n_outputs,)."""
        c = self.counts
        return (
            c.true_positives + c.false_positives + c.false_negatives + c.true_negatives
        )

    def eval(self, labels: Any, predictions: Any, mask: Any = None) -> None:
        """Count a batch.

        Parameters
        ----------
        labels, predictions : ndarray of shape (batch, n), (batch, n, time) or
            (batch, n, height, width)
            Zeros and ones, and probabilities.
        mask : ndarray, optional
            One value an example, a position or an output; 0 drops it.

        Raises
        ------
        ShapeError
            When the shapes do not go together.
        DataError
            When a label or a prediction that counts is NaN, or `roc_binary` has
            thresholds and a prediction is not from 0 to 1.
        """
        label_rows, rows, kept = unmasked_rows(
            "EvaluationBinary", labels, predictions, mask, self.axis
        )
        counts = self._start_or_check(rows.shape[1])
        if self.roc_binary is not None:
            self.roc_binary.eval(label_rows, rows, kept)
        actual = label_rows > 0.5
        predicted = rows > self._thresholds(rows)
        kept_rows = np.ones(actual.shape, np.bool_) if kept is None else kept
        counts += [
            np.count_nonzero(kept_rows & outcome, axis=0)
            for outcome in (
                actual & predicted,
                ~actual & predicted,
                actual & ~predicted,
                ~actual & ~predicted,
            )
        ]

    def merge(self, other: Evaluable) -> None:
        """Add the counts of another evaluation, which is not changed.

        Raises
        ------
        OptionError
            When the other one is no `EvaluationBinary`, only one of them has a
            `roc_binary`, or those cannot be merged.
        ShapeError
            When it has another number of outputs.
        """
        other = self._of_same_class(other)
        if other._counts is None:
            return
        if (self.roc_binary is None) != (other.roc_binary is None):
            raise OptionError(
                "EvaluationBinary: both must have a roc_binary or none to be merged, "
                "or its areas would be of a part of the data."
            )
        self.labels = self.labels or other.labels
        counts = self._start_or_check(other.n_outputs)
        # First what may refuse: its curves may come from a file.
        if self.roc_binary is not None and other.roc_binary is not None:
            self.roc_binary.merge(other.roc_binary)
        counts += other._counts

    def new_instance(self) -> "EvaluationBinary":
        """Return an evaluation with the same options and no data."""
        roc = self.roc_binary
        new = EvaluationBinary(
            self._n_outputs_given,
            decision_threshold=self.decision_threshold,
            labels=self.labels,
            axis=self.axis,
        )
        new.roc_binary = None if roc is None else roc.new_instance()
        return new

    def accuracy(self) -> Rates:
        """Return (TP + TN) / total per output, shape (n_outputs,)."""
        counts = self.counts
        hits = counts.true_positives + counts.true_negatives
        rates = np.full(hits.shape, np.nan)
        np.divide(hits, self.total_count, out=rates, where=self.total_count > 0)
        return rates

    def precision(self) -> Rates:
        """Return TP / (TP + FP) per output, shape (n_outputs,)."""
        return self.counts.precision()

    def recall(self) -> Rates:
        """Return TP / (TP + FN) per output, shape (n_outputs,)."""
        return self.counts.recall()

    def f1(self) -> Rates:
        """Return the harmonic mean of precision and recall, shape (n_outputs,)."""
        return self.f_beta(1.0)

    def f_beta(self, beta: float) -> Rates:
        """Return (1 + beta²) P R / (beta² P + R) per output; 0.0 if P or R is.

        Of shape (n_outputs,).
        """
        precision, recall = self.precision(), self.recall()
        is_zero = (precision == 0) | (recall == 0)
        return np.where(is_zero, 0.0, self.counts.f_beta(beta))

    def g_measure(self) -> Rates:
        """Return sqrt(precision recall) per output, shape (n_outputs,)."""
        return np.sqrt(self.precision() * self.recall())

    def matthews_correlation(self) -> Rates:
        """Return the Matthews correlation per output, shape (n_outputs,).

        NaN where an output has no positive or no negative, of the labels or predicted.
        """
        return self.counts.matthews_correlation()

    def false_positive_rate(self) -> Rates:
        """Return FP / (FP + TN) per output, 0 for 0 / 0, shape (n_outputs,)."""
        return np.nan_to_num(self.counts.false_positive_rate())

    def false_negative_rate(self) -> Rates:
        """Return FN / (FN + TP) per output, 0 for 0 / 0, shape (n_outputs,)."""
        return np.nan_to_num(self.counts.false_negative_rate())

    def false_alarm_rate(self) -> Rates:
        """Return the mean of false positive and negative rate, shape (n_outputs,)."""
        return (self.false_positive_rate() + self.false_negative_rate()) / 2

    def score_for_metric(self, metric: str, output: int | None = None) -> float:
        """Return a metric by its DL4J name, of an output or the mean over them.

        Raises
        ------
        OptionError
            When the name is not in ``METRICS`` or there is no such output.
        """
        rates: dict[str, Callable[[], Rates]] = {
            "ACCURACY": self.accuracy,
            "F1": self.f1,
            "PRECISION": self.precision,
            "RECALL": self.recall,
            "GMEASURE": self.g_measure,
            "MCC": self.matthews_correlation,
            "FAR": self.false_alarm_rate,
        }
        found = rates[self._check_metric(metric)]()
        if output is None:
            return mean_of_all(found)
        return float(
            found[check_index("EvaluationBinary", "output", output, found.size)]
        )

    def stats(self, *, precision: int = 4) -> str:
        """Return the table that DL4J prints, a line an output.

        Parameters
        ----------
        precision : int
            Digits after the point.
        """
        return binary_report(self, precision)

    def to_json(self) -> str:
        """Return DL4J's JSON, byte for byte."""
        return json_of("EvaluationBinary", self)

    @classmethod
    def from_json(cls: type[B], text: str) -> B:
        """Return the evaluation that :meth:`to_json` or DL4J wrote.

        Raises
        ------
        FormatError
            When the text is no such JSON or holds impossible values.
        """
        return of_json("EvaluationBinary", cls, text)

    @classmethod
    def of(cls: type[B], stored: StoredBinary) -> B:
        """Return the evaluation that a file tells of."""
        evaluation = cls(
            decision_threshold=stored.decision_threshold,
            labels=stored.labels,
            axis=stored.axis,
        )
        evaluation.roc_binary = stored.roc_binary
        evaluation._counts = stored.counts
        return evaluation

    def _thresholds(self, rows: FloatArray) -> Any:
        if self.decision_threshold is None:
            return 0.5
        return self.decision_threshold.astype(rows.dtype)

    def _start_or_check(self, n_outputs: int) -> NDArray[np.int64]:
        for name, given in (
            ("decision_threshold", self.decision_threshold),
            ("labels", self.labels),
        ):
            if given is not None and len(given) != n_outputs:
                raise ShapeError(
                    f"EvaluationBinary: labels must have {len(given)} outputs, one an "
                    f"entry of {name}, got {n_outputs}."
                )
        if self._counts is None:
            self._counts = np.zeros((4, n_outputs), np.int64)
        if n_outputs != self.n_outputs:
            raise ShapeError(
                f"EvaluationBinary: labels must have {self.n_outputs} outputs, "
                f"got {n_outputs}."
            )
        return self._counts


def _check_thresholds(thresholds: ArrayLike | None) -> FloatArray | None:
    if thresholds is None:
        return None
    array = np.asarray(thresholds)
    if array is not thresholds or array.dtype != np.float64:
        array = array.astype(np.float32)
    if array.ndim != 1 or not ((array >= 0) & (array <= 1)).all():
        raise OptionError(
            "EvaluationBinary: decision_threshold must be a row of numbers from 0 to "
            f"1, got {array.tolist()}."
        )
    return array
