"""Mean and variance of features, in one pass over each part and mergeable.

References
----------
Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm for computing
sample variances", 1979: the merge of two parts. Within a part the two-pass formula.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from daskdl.errors import ShapeError

__all__ = ["FeatureStatistics"]

_Vector = NDArray[np.float64]


@dataclass(frozen=True)
class FeatureStatistics:
    """What is known of some features after some examples.

    Parameters
    ----------
    count : int
        Values seen of each feature: examples, time steps, or pixels.
    mean : ndarray of shape (n_features,), float64
    squares : ndarray of shape (n_features,), float64
        Sum of the squared differences from the mean.
    minimum, maximum : ndarray of shape (n_features,), float64
        Equal where a feature is constant; rounding hides that in `squares`.
    """

    count: int
    mean: _Vector
    squares: _Vector
    minimum: _Vector
    maximum: _Vector

    @classmethod
    def of(
        cls,
        values: NDArray[np.generic],
        mask: NDArray[np.generic] | None = None,
        *,
        feature_axis: int = 1,
    ) -> "FeatureStatistics":
        """Collect the statistics of an array.

        Parameters
        ----------
        values : ndarray of shape (batch, ...), at least 2-d
            Finite.
        mask : ndarray of shape (batch, time), optional
            For values of rank 3: steps with 0 do not count.
        feature_axis : int
            Axis of features or channels; statistics are over all others.

        Raises
        ------
        ShapeError
            If there is no such axis.
        """
        if values.ndim < 2 or not -values.ndim <= feature_axis < values.ndim:
            raise ShapeError(
                f"FeatureStatistics: values must have axis {feature_axis}, got shape "
                f"{values.shape}."
            )
        last = np.moveaxis(values, feature_axis, -1)
        if mask is not None and values.ndim == 3:
            rows = last[np.asarray(mask, dtype=bool)].astype(np.float64)
        else:
            rows = last.reshape(-1, last.shape[-1]).astype(np.float64)
        if not len(rows):
            return _nothing_seen(rows.shape[1])
        mean = rows.mean(axis=0)
        squares = np.square(rows - mean).sum(axis=0)
        return cls(len(rows), mean, squares, rows.min(axis=0), rows.max(axis=0))

    def merge(self, other: "FeatureStatistics") -> "FeatureStatistics":
        """Return the statistics of both parts together.

        Raises
        ------
        ShapeError
            If they are of different numbers of features.
        """
        if self.mean.shape != other.mean.shape:
            raise ShapeError(
                f"FeatureStatistics: parts must have the same number of features, got "
                f"{len(self.mean)} and {len(other.mean)}."
            )
        count = self.count + other.count
        if not count:
            return self
        weight = other.count / count
        delta = other.mean - self.mean
        return FeatureStatistics(
            count,
            self.mean + delta * weight,
            self.squares + other.squares + delta * delta * (self.count * weight),
            np.minimum(self.minimum, other.minimum),
            np.maximum(self.maximum, other.maximum),
        )

    @property
    def std(self) -> _Vector:
        """Population standard deviation; 0 where nothing was seen."""
        deviation: _Vector = np.sqrt(self.squares / max(1, self.count))
        return deviation


def _nothing_seen(n_features: int) -> FeatureStatistics:
    zero, most = np.zeros(n_features), np.full(n_features, np.inf)
    return FeatureStatistics(0, zero, zero, most, -most)
