"""Scaling of one array by a strategy: its axis, its mask and its dtype."""

from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

from daskdl.data.normalizers.stats import NormalizerStats
from daskdl.data.normalizers.strategies import (
    Direction,
    NormalizerStrategy,
    Step,
    apply_steps,
)
from daskdl.errors import ShapeError

__all__ = ["Direction", "FeatureScaler", "Scaler", "as_work", "float_like"]

_Array: TypeAlias = NDArray[Any]


class Scaler(Protocol):
    """Changes one array of a data set."""

    def scale(
        self, who: str, direction: Direction, values: _Array, mask: _Array | None
    ) -> _Array:
        """Return a new array of the same shape, and of the same dtype if that is float.

        Parameters
        ----------
        who : str
            For messages.
        direction : {"transform", "revert"}
        values : ndarray of shape (batch, ...)
            Not changed. What is no float becomes float32.
        mask : ndarray of shape (batch, time), or None
            For series: steps with 0 come out as 0.
        """

    def steps(self, direction: Direction, n_axes: int, dtype: DTypeLike) -> list[Step]:
        """Return the operations of :meth:`scale`, mask aside.

        Parameters
        ----------
        direction : {"transform", "revert"}
        n_axes : int
            Of the array, that of the examples included.
        dtype : dtype
            float32 or float64: what is computed with.
        """


@dataclass(frozen=True)
class FeatureScaler:
    """Scales each feature, or channel, by its statistics.

    Parameters
    ----------
    strategy : NormalizerStrategy
    stats : NormalizerStats
        Of the kind that the strategy learns.
    feature_axis : int
        1 or -1.
    """

    strategy: NormalizerStrategy
    stats: NormalizerStats
    feature_axis: int

    def scale(
        self, who: str, direction: Direction, values: _Array, mask: _Array | None
    ) -> _Array:
        """Return the scaled values; time steps that the mask drops are 0.

        For the shapes see :meth:`Scaler.scale`. One number an example is a column.

        Raises
        ------
        ShapeError
            If the values do not have the features that were learnt, or the mask does
            not go with them.
        """
        first, _ = self.stats.pair
        if values.ndim == 1:
            column = self.scale(who, direction, values[:, None], mask)
            return column[:, 0]
        if values.ndim < 2 or values.shape[self.feature_axis] != len(first):
            raise ShapeError(
                f"{who}: must have {len(first)} entries along axis "
                f"{self.feature_axis}, got shape {values.shape}."
            )
        work = as_work(values)
        steps = self.steps(direction, values.ndim, work.dtype)
        scaled = float_like(values, apply_steps(work, steps))
        return _without_dropped(who, scaled, mask, self.feature_axis)

    def steps(self, direction: Direction, n_axes: int, dtype: DTypeLike) -> list[Step]:
        """Return the operations; see :meth:`Scaler.steps`."""
        shape = [1] * n_axes
        shape[self.feature_axis] = -1
        vectors = [one.astype(dtype).reshape(shape) for one in self.stats.pair]
        return self.strategy.steps(direction, *vectors)


def as_work(values: _Array) -> _Array:
    """Return values, of any shape, as float64 if they are that, else as float32."""
    dtype = np.float64 if values.dtype == np.float64 else np.float32
    return values.astype(dtype, copy=False)


def float_like(values: _Array, work: _Array) -> _Array:
    """Return `work` in the dtype of `values`, of the same shape, if that is float."""
    is_float = values.dtype.kind == "f"
    return work.astype(values.dtype, copy=False) if is_float else work


def _without_dropped(
    who: str, values: _Array, mask: _Array | None, feature_axis: int
) -> _Array:
    """Set the time steps that a mask drops to 0, in place; only of time series.

    DL4J multiplies by the mask, which leaves what is no number as it is.
    """
    if mask is None or values.ndim != 3:
        return values
    steps = np.moveaxis(values, feature_axis, -1).shape[:2]
    if mask.shape != steps:
        raise ShapeError(f"{who}: mask must have shape {steps}, got {mask.shape}.")
    np.moveaxis(values, feature_axis, -1)[~np.asarray(mask, dtype=bool)] = 0
    return values
