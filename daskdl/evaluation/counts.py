"""Rates from a confusion matrix: per class, averaged, or of the positive class.

A rate whose denominator is zero is 0.0, and such a class is left out of the mean of
precision, recall and F; it stays in the mean of the others, as in DL4J.
"""

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

Averaging: TypeAlias = Literal["macro", "micro"]
Rates: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class ClassCounts:
    """Outcomes per class, each of shape (n_classes,), int64."""

    true_positives: NDArray[np.int64]
    false_positives: NDArray[np.int64]
    false_negatives: NDArray[np.int64]
    true_negatives: NDArray[np.int64]

    @classmethod
    def of(cls, confusion: NDArray[np.int64]) -> "ClassCounts":
        """Return the counts of a confusion matrix, actual classes by predicted ones.

        The matrix is of shape (n_classes, n_classes).
        """
        hits = np.diagonal(confusion).copy()
        false_positives = confusion.sum(axis=0) - hits
        false_negatives = confusion.sum(axis=1) - hits
        rest = confusion.sum() - hits - false_positives - false_negatives
        return cls(hits, false_positives, false_negatives, rest)

    def total(self) -> "ClassCounts":
        """Return the sums over classes, of shape (1,)."""
        return ClassCounts(
            self.true_positives.sum(keepdims=True),
            self.false_positives.sum(keepdims=True),
            self.false_negatives.sum(keepdims=True),
            self.true_negatives.sum(keepdims=True),
        )

    def precision(self) -> Rates:
        """Return TP / (TP + FP) per class, NaN for 0 / 0, shape (n_classes,)."""
        return _ratio(self.true_positives, self.true_positives + self.false_positives)

    def recall(self) -> Rates:
        """Return TP / (TP + FN) per class, NaN for 0 / 0, shape (n_classes,)."""
        return _ratio(self.true_positives, self.true_positives + self.false_negatives)

    def false_positive_rate(self) -> Rates:
        """Return FP / (FP + TN) per class, NaN for 0 / 0, shape (n_classes,)."""
        return _ratio(self.false_positives, self.false_positives + self.true_negatives)

    def false_negative_rate(self) -> Rates:
        """Return FN / (FN + TP) per class, NaN for 0 / 0, shape (n_classes,)."""
        return _ratio(self.false_negatives, self.false_negatives + self.true_positives)

    def f_beta(self, beta: float) -> Rates:
        """Return (1 + b²) P R / (b² P + R) per class; NaN where P or R is 0 / 0.

        Of shape (n_classes,).
        """
        precision, recall = self.precision(), self.recall()
        both = (1 + beta * beta) * precision * recall
        score = _ratio(both, beta * beta * precision + recall)
        return np.where((precision == 0) | (recall == 0), both, score)

    def g_measure(self) -> Rates:
        """Return sqrt(P R) per class, (n_classes,), a rate of 0 / 0 counting as 0."""
        return np.sqrt(np.nan_to_num(self.precision()) * np.nan_to_num(self.recall()))

    def matthews_correlation(self) -> Rates:
        """Return (TP TN - FP FN) / sqrt((TP+FP)(TP+FN)(TN+FP)(TN+FN)) per class.

        Of shape (n_classes,); NaN for 0 / 0.
        """
        tp, fp, fn, tn = (
            counts.astype(np.float64)
            for counts in (
                self.true_positives,
                self.false_positives,
                self.false_negatives,
                self.true_negatives,
            )
        )
        scale = np.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))
        return _ratio(tp * tn - fp * fn, scale)


def mean_of_known(rates: Rates) -> float:
    """Return the mean over classes, (n_classes,), without 0 / 0; NaN if all are."""
    known = rates[~np.isnan(rates)]
    # Summed in class order: DL4J's own sum, to the last bit.
    return sum(known.tolist()) / known.size if known.size else math.nan


def mean_of_all(rates: Rates) -> float:
    """Return the mean over all classes, (n_classes,); NaN if any is."""
    return sum(rates.tolist()) / rates.size if rates.size else math.nan


def _ratio(above: NDArray[np.generic], below: NDArray[np.generic]) -> Rates:
    ratio = np.full(below.shape, np.nan)
    np.divide(above, below, out=ratio, where=below != 0)
    return ratio
