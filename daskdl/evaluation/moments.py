"""Means and centred second moments of labels and predictions, a column at a time.

Sums of squares cannot tell a spread from a mean that is large against it: of numbers
near 1e8 they have lost it all. Differences from the mean keep it.

References
----------
T. F. Chan, G. H. Golub and R. J. LeVeque, "Algorithms for computing the sample
variance: analysis and recommendations", The American Statistician 37 (1983): the
pairwise update, for products of two variables, too. Within a batch two passes.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Columns = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PairMoments:
    """Means and squared differences of labels and predictions after some rows.

    Parameters
    ----------
    count : ndarray of shape (n_columns,), float64
        Rows counted.
    label, prediction : ndarray of shape (n_columns,), float64
        Means; 0 where nothing was counted.
    label_squares, prediction_squares : ndarray of shape (n_columns,), float64
        Sums of the squared differences from the mean. Exactly 0 where a column is
        constant.
    products : ndarray of shape (n_columns,), float64
        Sum of the products of both differences.
    """

    count: Columns
    label: Columns
    prediction: Columns
    label_squares: Columns
    prediction_squares: Columns
    products: Columns

    @classmethod
    def nothing(cls, n_columns: int) -> "PairMoments":
        """Return the moments of no rows."""
        zero = np.zeros(n_columns)
        return cls(zero, zero, zero, zero, zero, zero)

    @classmethod
    def of(
        cls, labels: Columns, predictions: Columns, kept: NDArray[np.bool_] | None
    ) -> "PairMoments":
        """Return the moments of a batch.

        Parameters
        ----------
        labels, predictions : ndarray of shape (rows, n_columns), float64
        kept : ndarray of shape (rows, n_columns), bool, or None
            Which values count; None for all.
        """
        n_rows, n_columns = labels.shape
        if not n_rows:
            return cls.nothing(n_columns)
        count = np.full(n_columns, float(n_rows))
        if kept is not None:
            count = kept.sum(axis=0).astype(np.float64)
        label, label_moved = _centred(labels, kept, count)
        prediction, prediction_moved = _centred(predictions, kept, count)
        return cls(
            count,
            label,
            prediction,
            (label_moved * label_moved).sum(axis=0),
            (prediction_moved * prediction_moved).sum(axis=0),
            (label_moved * prediction_moved).sum(axis=0),
        )

    def merge(self, other: "PairMoments") -> "PairMoments":
        """Return the moments of both parts together."""
        count = self.count + other.count
        share = other.count / np.maximum(count, 1)
        # A part without rows has no mean to differ from.
        both = (self.count > 0) & (other.count > 0)
        label = np.where(both, other.label - self.label, 0)
        prediction = np.where(both, other.prediction - self.prediction, 0)
        weight = self.count * share
        return PairMoments(
            count,
            np.where(self.count > 0, self.label, other.label) + label * share,
            np.where(self.count > 0, self.prediction, other.prediction)
            + prediction * share,
            self.label_squares + other.label_squares + label * label * weight,
            self.prediction_squares
            + other.prediction_squares
            + prediction * prediction * weight,
            self.products + other.products + label * prediction * weight,
        )


def _centred(
    values: Columns, kept: NDArray[np.bool_] | None, count: Columns
) -> tuple[Columns, Columns]:
    """Return the mean of each column, and the differences from it, 0 if not kept."""
    # From one of its own values: the mean of a constant column is exact.
    first = values[0]
    if kept is not None:
        first = np.take_along_axis(values, kept.argmax(axis=0)[None], axis=0)[0]
        first = np.where(count > 0, first, 0)
    moved = _only(values - first, kept)
    shift = moved.sum(axis=0) / np.maximum(count, 1)
    moved -= shift
    return first + shift, _only(moved, kept)


def _only(values: Columns, kept: NDArray[np.bool_] | None) -> Columns:
    return values if kept is None else np.where(kept, values, 0)
