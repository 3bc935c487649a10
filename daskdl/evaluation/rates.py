"""The numbers that a confusion matrix gives, with DL4J's rules for averaging."""

import math

import numpy as np
from numpy.typing import NDArray

from daskdl.checks import check_index, check_one_of
from daskdl.dialects import Quirks
from daskdl.errors import OptionError
from daskdl.evaluation.counts import (
    Averaging,
    ClassCounts,
    Rates,
    mean_of_all,
    mean_of_known,
)


class ConfusionRates:
    """Rates of one class, averaged, or of the positive class.

    Each rate takes a class or an averaging: ``macro`` is the mean of the classes,
    ``micro`` comes from the summed counts. Without either it is that of the positive
    class if there are two classes and one of them is called positive, else macro;
    G-measure and Matthews correlation are macro then, too. A class with 0 / 0 has the
    rate 0.0; for precision, recall and F the macro average leaves it out.

    A number that is none of a class is an `OptionError`, and so is a class together
    with an averaging.

    Attributes
    ----------
    confusion_matrix : ndarray of shape (n_classes, n_classes), int64
        Counts of actual class (row) predicted as (column).
    binary_positive_class : {0, 1} or None
        Which class the rates are about when there are two.
    """

    confusion_matrix: NDArray[np.int64]
    binary_positive_class: int | None
    _quirks: Quirks

    @property
    def n_classes(self) -> int:
        """Number of classes; 0 while it is not known."""
        return len(self.confusion_matrix)

    @property
    def num_examples(self) -> int:
        """Number of rows counted: examples, time steps or pixels."""
        return int(self.confusion_matrix.sum())

    @property
    def counts(self) -> ClassCounts:
        """True and false positives and negatives per class."""
        return ClassCounts.of(self.confusion_matrix)

    def accuracy(self) -> float:
        """Return the share of rows whose class was predicted; 0.0 without data."""
        rows = self.num_examples
        return int(np.trace(self.confusion_matrix)) / rows if rows else 0.0

    def precision(
        self, class_index: int | None = None, *, averaging: Averaging | None = None
    ) -> float:
        """Return TP / (TP + FP)."""
        index, by = self._choose(class_index, averaging)
        if self.num_examples == 0:
            return 0.0
        rates = self._counts_by(by).precision()
        return _value(rates, index, mean_of_known(rates))

    def recall(
        self, class_index: int | None = None, *, averaging: Averaging | None = None
    ) -> float:
        """Return TP / (TP + FN)."""
        index, by = self._choose(class_index, averaging)
        if self.num_examples == 0:
            return 0.0
        rates = self._counts_by(by).recall()
        return _value(rates, index, mean_of_known(rates))

    def f1(
        self, class_index: int | None = None, *, averaging: Averaging | None = None
    ) -> float:
        """Return the harmonic mean of precision and recall."""
        return self.f_beta(1.0, class_index, averaging=averaging)

    def f_beta(
        self,
        beta: float,
        class_index: int | None = None,
        *,
        averaging: Averaging | None = None,
    ) -> float:
        """Return (1 + beta²) P R / (beta² P + R); NaN without data.

        In DL4J an averaging gives the value of class 1 if there are two classes and one
        of them is called positive.
        """
        index, by = self._choose(class_index, averaging)
        if self.num_examples == 0:
            return math.nan
        is_binary = self.n_classes == 2 and self.binary_positive_class is not None
        if index is None and is_binary and "binary_f_of_class_one" in self._quirks:
            index, by = 1, "macro"
        rates = self._counts_by(by).f_beta(beta)
        return _value(rates, index, mean_of_known(rates))

    def false_positive_rate(
        self, class_index: int | None = None, *, averaging: Averaging | None = None
    ) -> float:
        """Return FP / (FP + TN)."""
        index, by = self._choose(class_index, averaging)
        rates = np.nan_to_num(self._counts_by(by).false_positive_rate())
        return _value(rates, index, mean_of_all(rates))

    def false_negative_rate(
        self, class_index: int | None = None, *, averaging: Averaging | None = None
    ) -> float:
        """Return FN / (FN + TP)."""
        index, by = self._choose(class_index, averaging)
        rates = np.nan_to_num(self._counts_by(by).false_negative_rate())
        return _value(rates, index, mean_of_all(rates))

    def false_alarm_rate(self) -> float:
        """Return the mean of false positive and false negative rate."""
        return (self.false_positive_rate() + self.false_negative_rate()) / 2

    def g_measure(
        self, class_index: int | None = None, *, averaging: Averaging | None = None
    ) -> float:
        """Return sqrt(precision recall), of a class or averaged."""
        index, by = self._class_or_averaging(class_index, averaging)
        rates = self._counts_by(by).g_measure()
        return _value(rates, index, mean_of_all(rates))

    def matthews_correlation(
        self, class_index: int | None = None, *, averaging: Averaging | None = None
    ) -> float:
        """Return the binary Matthews correlation, of a class or averaged.

        It is NaN for a class that was always or never predicted, and so is a macro
        average with such a class.
        """
        index, by = self._class_or_averaging(class_index, averaging)
        rates = self._counts_by(by).matthews_correlation()
        return mean_of_all(rates if index is None else rates[[index]])

    def n_classes_excluded(self, metric: str) -> int:
        """Return the number of classes that the macro average of a metric leaves out.

        Parameters
        ----------
        metric : {'precision', 'recall', 'f1'}
            Which average.
        """
        check_one_of("Evaluation", "metric", metric, ("precision", "recall", "f1"))
        counts = self.counts
        rates = {
            "precision": counts.precision(),
            "recall": counts.recall(),
            "f1": counts.f_beta(1.0),
        }
        return int(np.isnan(rates[metric]).sum())

    def _choose(
        self, class_index: int | None, averaging: Averaging | None
    ) -> tuple[int | None, Averaging]:
        if class_index is None and averaging is None and self.n_classes == 2:
            return self.binary_positive_class, "macro"
        return self._class_or_averaging(class_index, averaging)

    def _class_or_averaging(
        self, class_index: int | None, averaging: Averaging | None
    ) -> tuple[int | None, Averaging]:
        if averaging is not None:
            check_one_of("Evaluation", "averaging", averaging, ("macro", "micro"))
            if class_index is not None:
                raise OptionError(
                    f"Evaluation: only one of class_index and averaging may be given, "
                    f"got {class_index!r} and {averaging!r}."
                )
            return None, averaging
        if class_index is not None:
            class_index = self._check_class("class_index", class_index)
        return class_index, "macro"

    def _check_class(self, option: str, index: int) -> int:
        return check_index("Evaluation", option, index, self.n_classes)

    def _counts_by(self, averaging: Averaging) -> ClassCounts:
        return self.counts.total() if averaging == "micro" else self.counts


def _value(rates: Rates, index: int | None, average: float) -> float:
    if index is None:
        return average
    return float(np.nan_to_num(rates[index]))
