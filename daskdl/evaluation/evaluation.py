"""Evaluation of classifiers, binary and multi-class."""

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from daskdl.arrays.namespace import FloatArray, to_host
from daskdl.checks import check_at_least, check_one_of
from daskdl.dialects import EXACT, quirks_of
from daskdl.errors import OptionError, ShapeError
from daskdl.evaluation.evaluable import Evaluable
from daskdl.evaluation.json_text import json_of, of_json
from daskdl.evaluation.rates import ConfusionRates
from daskdl.evaluation.report import classification_report, named_confusion_table
from daskdl.evaluation.rows import unmasked_rows

E = TypeVar("E", bound="Evaluation")


class Prediction(NamedTuple):
    """One counted row: true class, predicted class and the caller's metadata."""

    actual: int
    predicted: int
    metadata: Any


class Evaluation(ConfusionRates, Evaluable):
    """Accuracy, precision, recall, F1 and the confusion matrix of a classifier.

    The predicted class is that of the largest probability; for one column 1 if it is
    above the threshold (0.5 unless given), for two columns and a threshold 1 if the
    second is above it; with costs that of the largest cost times probability.

    Parameters
    ----------
    n_classes : int, optional
        Found from the first batch unless given. One column counts as two classes.
    labels : sequence of str, optional
        Names of the classes; ``"0"``, ``"1"``, ... unless given.
    top_n : int
        Also count how often the true class is among the `top_n` most probable ones.
    binary_positive_class : {0, 1}, optional
        The class that precision, recall and F1 are about when there are two. ``None``
        averages over both.
    binary_decision_threshold : float, optional
        Probability of class 1 above which it is predicted; for one or two columns.
    cost_array : array-like of shape (n_classes,), optional
        Factors of the probabilities, not negative. Kept as float32, as in DL4J, if no
        float64 array.
    axis : int
        Axis of the classes: 1 for DL4J's NCW and NCHW, 2 and 3 for NWC and NHWC.
    max_warning_classes_to_print : int
        :meth:`stats` lists classes left out of an average up to this many.
    dialect : str
        ``"exact"``, or ``"dl4j-1.0.0-M2.1"``, which counts as DL4J does and is what its
        JSON has; see ``docs/dl4j-quirks.md``.

    Attributes
    ----------
    confusion_matrix : ndarray of shape (n_classes, n_classes), int64
        Counts of actual class (row) predicted as (column); of shape (0, 0) while the
        number of classes is not known.
    top_n_correct_count, top_n_total_count : int
        Rows whose class was among the `top_n` most probable, and all; 0 for top 1.
    """

    METRICS = ("ACCURACY", "F1", "PRECISION", "RECALL", "GMEASURE", "MCC")

    def __init__(
        self,
        n_classes: int | None = None,
        *,
        labels: Sequence[str] | None = None,
        top_n: int = 1,
        binary_positive_class: int | None = 1,
        binary_decision_threshold: float | None = None,
        cost_array: ArrayLike | None = None,
        axis: int = 1,
        max_warning_classes_to_print: int = 16,
        dialect: str = EXACT,
    ) -> None:
        who = "Evaluation"
        self.dialect = dialect
        self._quirks = quirks_of(dialect)
        check_one_of(who, "binary_positive_class", binary_positive_class, (0, 1, None))
        self.top_n = int(check_at_least(who, "top_n", top_n, 1))
        self.axis = int(check_at_least(who, "axis", axis, 1))
        self.max_warning_classes_to_print = max_warning_classes_to_print
        self.binary_decision_threshold = binary_decision_threshold
        self.cost_array = _check_costs(cost_array)
        self.top_n_correct_count = 0
        self.top_n_total_count = 0
        self._predictions: list[Prediction] = []
        self._names = list(labels) if labels is not None else None
        self._n_classes_given = _check_n_classes(n_classes, self._names)
        self.binary_positive_class = _check_positive_class(
            binary_positive_class, n_classes, self._names
        )
        size = self._n_classes_given or 0
        self.confusion_matrix: NDArray[np.int64] = np.zeros((size, size), np.int64)

    @property
    def labels(self) -> list[str]:
        """Names of the classes; numbers unless names were given."""
        return self._names or [str(i) for i in range(self.n_classes)]

    def eval(
        self,
        labels: Any,
        predictions: Any,
        mask: Any = None,
        *,
        metadata: Sequence[Any] | None = None,
    ) -> None:
        """Count a batch.

        Parameters
        ----------
        labels, predictions : ndarray of shape (batch, n_out), (batch, n_out, time) or
            (batch, n_out, height, width)
            One-hot labels and probabilities; one column holds class 1.
        mask : ndarray, optional
            One value an example or a position; 0 drops it.
        metadata : sequence of length batch, optional
            What :meth:`predictions` gives back, for instance keys or file names; for
            labels of two axes. It is merged, but not written to JSON.

        Raises
        ------
        ShapeError
            When shapes do not go together, or the mask has one value an output.
        DataError
            When a label or a prediction that counts is NaN.
        """
        label_rows, rows, output_mask = unmasked_rows(
            "Evaluation", labels, predictions, mask, self.axis
        )
        if output_mask is not None:
            raise ShapeError(
                "Evaluation: mask must have one value an example or a position, got "
                f"one an output, shape {np.shape(mask)}."
            )
        n_classes = max(rows.shape[1], 2)
        self._start_or_check(n_classes, self._names)
        predicted = self._predicted_classes(rows)
        actual = _actual_classes(label_rows)
        if metadata is not None:
            kept = _unmasked_metadata(metadata, labels, mask)
            self._predictions += [
                Prediction(*row)
                for row in zip(actual.tolist(), predicted.tolist(), kept, strict=True)
            ]
        pairs = actual * n_classes + predicted
        counted = np.bincount(pairs, minlength=n_classes * n_classes)
        self.confusion_matrix += counted.reshape(n_classes, n_classes)
        if self.top_n > 1 and rows.shape[1] > 1:
            of_actual = np.take_along_axis(rows, actual[:, None], axis=1)
            n_larger = np.count_nonzero(rows > of_actual, axis=1)
            self.top_n_correct_count += int(np.count_nonzero(n_larger < self.top_n))
            self.top_n_total_count += rows.shape[0]

    def merge(self, other: Evaluable) -> None:
        """Add the counts of another evaluation, which is not changed.

        Raises
        ------
        OptionError
            When the other one is no `Evaluation` or counts another top N.
        ShapeError
            When it has another number of classes.
        """
        other = self._of_same_class(other)
        if other.n_classes == 0:
            return
        if other.top_n != self.top_n:
            raise OptionError(
                f"Evaluation: top_n must be {self.top_n} to be merged, "
                f"got {other.top_n}."
            )
        self._start_or_check(other.n_classes, self._names or other._names)
        self.confusion_matrix += other.confusion_matrix
        self.top_n_correct_count += other.top_n_correct_count
        self.top_n_total_count += other.top_n_total_count
        self._predictions += other._predictions

    def new_instance(self) -> "Evaluation":
        """Return an evaluation with the same options and no data."""
        return Evaluation(
            self._n_classes_given,
            labels=self._names,
            top_n=self.top_n,
            binary_positive_class=self.binary_positive_class,
            binary_decision_threshold=self.binary_decision_threshold,
            cost_array=self.cost_array,
            axis=self.axis,
            max_warning_classes_to_print=self.max_warning_classes_to_print,
            dialect=self.dialect,
        )

    def predictions(
        self, *, actual: int | None = None, predicted: int | None = None
    ) -> list[Prediction]:
        """Return the rows that came with metadata, of these classes if given.

        Raises
        ------
        OptionError
            When there is no such class, or no data yet.
        """
        for option, index in (("actual", actual), ("predicted", predicted)):
            if index is not None:
                self._check_class(option, index)
        return [
            row
            for row in self._predictions
            if actual in (None, row.actual) and predicted in (None, row.predicted)
        ]

    def prediction_errors(self) -> list[Prediction]:
        """Return the rows with metadata whose class was not predicted, by class."""
        wrong = [row for row in self._predictions if row.actual != row.predicted]
        return sorted(wrong, key=lambda row: (row.actual, row.predicted))

    def top_n_accuracy(self) -> float:
        """Return the share of rows whose class is among the most probable `top_n`.

        A row counts if fewer than `top_n` probabilities are larger than that of its
        class.
        """
        if self.top_n == 1:
            return self.accuracy()
        if self.top_n_total_count == 0:
            return 0.0
        return self.top_n_correct_count / self.top_n_total_count

    def score_for_metric(self, metric: str) -> float:
        """Return a metric by its DL4J name; see ``METRICS``."""
        scores = {
            "ACCURACY": self.accuracy,
            "F1": self.f1,
            "PRECISION": self.precision,
            "RECALL": self.recall,
            "GMEASURE": self.g_measure,
            "MCC": self.matthews_correlation,
        }
        return float(scores[self._check_metric(metric)]())

    def stats(self, *, warnings: bool = True, confusion: bool | None = None) -> str:
        """Return the report that DL4J prints.

        Parameters
        ----------
        warnings : bool
            Name the classes that are left out of an average.
        confusion : bool, optional
            Whether the confusion matrix is in it; for up to 20 classes unless given.
        """
        return classification_report(self, warnings=warnings, confusion=confusion)

    def confusion_to_string(self) -> str:
        """Return the confusion matrix with the names of the classes, as DL4J does."""
        return named_confusion_table(self.confusion_matrix, self.labels)

    def to_json(self, *, compact: bool = False) -> str:
        """Return DL4J's JSON.

        Parameters
        ----------
        compact : bool
            Leave out the zeros that DL4J appends to the rows of the confusion matrix,
            as many as there were examples; it reads both.

        Notes
        -----
        The text is DL4J's byte for byte up to 16 classes. Beyond them the order of its
        hash tables depends on the order of the examples; here it ascends.
        """
        return json_of("Evaluation", self, compact=compact)

    @classmethod
    def from_json(cls: type[E], text: str) -> E:
        """Return the evaluation that :meth:`to_json` or DL4J wrote.

        Raises
        ------
        FormatError
            When the text is no such JSON or holds impossible values.
        """
        return of_json("Evaluation", cls, text)

    def _start_or_check(self, n_classes: int, names: list[str] | None) -> None:
        expected = self.n_classes or len(names or ()) or n_classes
        if n_classes != expected:
            raise ShapeError(
                f"Evaluation: labels must have {expected} classes, got {n_classes}."
            )
        if self.cost_array is not None and self.cost_array.size != n_classes:
            raise ShapeError(
                f"Evaluation: labels must have {self.cost_array.size} classes, one a "
                f"cost, got {n_classes}."
            )
        self._names = names
        if self.n_classes == 0:
            self.confusion_matrix = np.zeros((n_classes, n_classes), np.int64)

    def _predicted_classes(self, rows: FloatArray) -> NDArray[np.intp]:
        threshold = self.binary_decision_threshold
        if rows.shape[1] == 1:
            above = rows[:, 0] > (0.5 if threshold is None else threshold)
            return above.astype(np.intp)
        if threshold is not None:
            if rows.shape[1] != 2:
                raise ShapeError(
                    "Evaluation: predictions must have 1 or 2 columns for a "
                    f"binary_decision_threshold, got {rows.shape[1]}."
                )
            return (rows[:, 1] > threshold).astype(np.intp)
        if self.cost_array is not None:
            rows = rows * self.cost_array.astype(rows.dtype)
        classes: NDArray[np.intp] = rows.argmax(axis=1)
        return classes


def _actual_classes(label_rows: FloatArray) -> NDArray[np.intp]:
    if label_rows.shape[1] == 1:
        return (label_rows[:, 0] > 0.5).astype(np.intp)
    classes: NDArray[np.intp] = label_rows.argmax(axis=1)
    return classes


def _unmasked_metadata(
    metadata: Sequence[Any], labels: Any, mask: Any
) -> Sequence[Any]:
    shape = np.shape(labels)
    if len(shape) != 2 or len(metadata) != shape[0]:
        raise ShapeError(
            "Evaluation: metadata must have one entry for each row of labels of two "
            f"axes, got {len(metadata)} for shape {shape}."
        )
    if mask is None:
        return metadata
    kept = to_host(mask).ravel() != 0
    return [entry for entry, keep in zip(metadata, kept, strict=True) if keep]


def _check_costs(costs: ArrayLike | None) -> FloatArray | None:
    if costs is None:
        return None
    array = np.asarray(costs)
    if array is not costs or array.dtype != np.float64:
        array = array.astype(np.float32)
    if array.ndim != 1 or not (np.isfinite(array) & (array >= 0)).all():
        raise OptionError(
            "Evaluation: cost_array must be a row of numbers >= 0, got "
            f"{array.tolist()}."
        )
    return array


def _check_n_classes(n_classes: int | None, names: list[str] | None) -> int | None:
    if n_classes is None:
        return len(names) if names is not None else None
    check_at_least("Evaluation", "n_classes", n_classes, 1)
    n_classes = max(n_classes, 2)
    if names is not None and len(names) != n_classes:
        raise OptionError(
            f"Evaluation: labels must name {n_classes} classes, got {len(names)}."
        )
    return n_classes


def _check_positive_class(
    positive: int | None, n_classes: int | None, names: list[str] | None
) -> int | None:
    if n_classes is None or n_classes <= 2:
        return positive
    if positive == 0:
        raise OptionError(
            "Evaluation: binary_positive_class must be left out when there are not two "
            f"classes, got 0 with n_classes {n_classes}."
        )
    # DL4J writes null for a number of classes, but not for as many names.
    return None if names is None else positive
