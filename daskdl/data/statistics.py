"""Mean, variance and bounds of features, in one pass over each part and mergeable.

References
----------
Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm for computing
sample variances", 1979: the merge of two parts. Within a part the two-pass formula.
A part is some examples of an array: copies of all as float64 would take several times
what the data do.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from daskdl.errors import ShapeError

__all__ = ["FeatureStatistics", "merge_statistics", "statistics_of"]

_Vector = NDArray[np.float64]

# Fewer values that can be told apart are less than six bits of a feature.
_FEW_VALUES = 64

# What is copied as float64 at a time: as much stays in a core's own cache.
_PART_BYTES = 256 << 10


@dataclass(frozen=True)
class FeatureStatistics:
    """Mean, variance and bounds of features after some examples.

    Parameters
    ----------
    count : int
        Values seen of each feature: examples, time steps, or pixels.
    mean : ndarray of shape (n_features,), float64
    squares : ndarray of shape (n_features,), float64
        Sum of the squared differences from the mean.
    minimum, maximum : ndarray of shape (n_features,), float64
        Equal where a feature is constant; rounding hides that in `squares`.
    dtype : str
        Of the values: float64, or float32 for all others.
    """

    count: int
    mean: _Vector
    squares: _Vector
    minimum: _Vector
    maximum: _Vector
    dtype: str = "float64"

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
        values : ndarray of shape (batch, ...)
            Finite. One number an example is a column.
        mask : ndarray of shape (batch, time), optional
            For values of rank 3: steps with 0 do not count.
        feature_axis : int
            Axis of features or channels; statistics are over all others.

        Raises
        ------
        ShapeError
            If there is no such axis, or the mask is not one of time steps.
        """
        if values.ndim == 1:
            values = values[:, None]
        if values.ndim < 2 or not -values.ndim <= feature_axis < values.ndim:
            raise ShapeError(
                f"FeatureStatistics: values must have axis {feature_axis}, got shape "
                f"{values.shape}."
            )
        last = np.moveaxis(values, feature_axis, -1)
        if mask is not None and values.ndim == 3 and mask.shape != last.shape[:2]:
            raise ShapeError(
                f"FeatureStatistics: mask must have shape {last.shape[:2]}, got "
                f"{mask.shape}."
            )
        counts = None if mask is None or values.ndim != 3 else mask.astype(bool)
        dtype = "float64" if values.dtype == np.float64 else "float32"
        parts = (_of_part(rows) for rows in _parts(last, counts))
        seen = reduce(cls.merge, parts, _nothing_seen(last.shape[-1]))
        return replace(seen, dtype=dtype)

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
            max(self.dtype, other.dtype),
        )

    @property
    def std(self) -> _Vector:
        """Population standard deviation, (n_features,); 0 where nothing was seen."""
        deviation: _Vector = np.sqrt(self.squares / max(1, self.count))
        return deviation

    def coarse(self) -> NDArray[np.intp]:
        """Return the features that may be rounded numbers of others, by their index.

        Their values were float32, and there are few of these between their bounds. A
        constant is none, unless not even whole numbers beside it could be told apart.
        """
        if self.dtype == "float64":
            return np.empty(0, np.intp)
        largest = np.maximum(np.abs(self.minimum), np.abs(self.maximum))
        step = np.spacing(largest.astype(np.float32))
        spread = self.maximum - self.minimum
        is_constant = (spread == 0) & (step <= 1)
        return np.flatnonzero((spread < _FEW_VALUES * step) & ~is_constant)


def statistics_of(
    arrays: Sequence[NDArray[Any]],
    masks: Sequence[NDArray[Any] | None] | None,
    *,
    feature_axis: int = 1,
) -> tuple[FeatureStatistics, ...]:
    """Collect the statistics of each of some arrays.

    Parameters
    ----------
    arrays : sequence of ndarray of shape (batch, ...)
    masks : sequence of (ndarray or None), optional
        One an array.
    feature_axis : int
        Axis of features or channels.
    """
    masks = [None] * len(arrays) if masks is None else masks
    return tuple(
        FeatureStatistics.of(array, mask, feature_axis=feature_axis)
        for array, mask in zip(arrays, masks, strict=True)
    )


def merge_statistics(
    who: str,
    what: str,
    first: Sequence[FeatureStatistics],
    second: Sequence[FeatureStatistics],
) -> tuple[FeatureStatistics, ...]:
    """Return the statistics of both parts together, array by array.

    Parameters
    ----------
    who, what : str
        For messages: what the arrays are.
    first, second : sequence of FeatureStatistics

    Raises
    ------
    ShapeError
        If there are not as many of one as of the other, or of other features.
    """
    if len(first) != len(second):
        raise ShapeError(
            f"{who}: all data sets must have the same number of {what}, got "
            f"{len(first)} and {len(second)}."
        )
    return tuple(a.merge(b) for a, b in zip(first, second, strict=True))


def _parts(
    values: NDArray[Any], counts: NDArray[np.bool_] | None
) -> Iterator[NDArray[np.float64]]:
    """Yield the rows of features that count, as float64, some examples at a time.

    All in one memory, which may be written to and is used again for the next.
    """
    examples, width = len(values), values.shape[-1]
    rows_each = values.size // max(1, examples * width)
    each = rows_each * width * np.dtype(np.float64).itemsize
    at_once = min(examples, max(1, _PART_BYTES // max(1, each)))
    memory = np.empty((at_once * rows_each, width))
    for start in range(0, examples, max(1, at_once)):
        part = values[start : start + at_once]
        if counts is not None:
            part = part[counts[start : start + at_once]]
        rows = memory[: part.size // max(1, width)]
        np.copyto(rows.reshape(part.shape), part)
        yield rows


def _of_part(rows: NDArray[np.float64]) -> FeatureStatistics:
    """Collect the statistics of rows of shape (n, n_features), which are lost."""
    if not len(rows):
        return _nothing_seen(rows.shape[1])
    mean = rows.mean(axis=0)
    bounds = rows.min(axis=0), rows.max(axis=0)
    rows -= mean
    squares = np.square(rows, out=rows).sum(axis=0)
    return FeatureStatistics(len(rows), mean, squares, *bounds)


def _nothing_seen(n_features: int) -> FeatureStatistics:
    zero, most = np.zeros(n_features), np.full(n_features, np.inf)
    return FeatureStatistics(0, zero, zero, most, -most)
