"""With which probability a step of two classes is kept in training."""

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from daskdl.errors import DataError, ShapeError

__all__ = ["Sampling"]

_Array: TypeAlias = NDArray[Any]
_Numbers: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class Sampling:
    """How steps of the frequent class are dropped.

    Parameters
    ----------
    who : str
        What messages begin with.
    window_size : int
        So many steps at a time are looked at, from the end on.
    target : float in (0, 0.5]
        The share that the rare class should have.
    minority : {0, 1}
        Which class is rare.
    mask_all_majority_windows, mask_minority_windows : bool
        Whether windows without the rare class are dropped whole, and whether those with
        it are changed at all.
    """

    who: str
    window_size: int
    target: float
    minority: int
    mask_all_majority_windows: bool
    mask_minority_windows: bool

    def probabilities(self, labels: _Array, mask: _Array | None) -> _Numbers:
        """Return with which probability each step is kept.

        Parameters
        ----------
        labels : ndarray of shape (batch, time, 1) or (batch, time, 2)
            0 or 1, or one-hot.
        mask : ndarray of shape (batch, time), optional
            1 keeps, 0 drops.

        Raises
        ------
        ShapeError
            If labels or mask have another shape.
        DataError
            If two columns are not one-hot.
        """
        kept = self._checked(labels, mask)
        is_rare = self._rare(labels)
        found = np.empty_like(kept)
        end = kept.shape[1]
        while end > 0:
            start = max(end - self.window_size, 0)
            window = np.s_[:, start:end]
            found[window] = self._in_window(is_rare[window], kept[window])
            end = start
        return found

    def _in_window(self, is_rare: _Numbers, kept: _Numbers) -> _Numbers:
        rare, frequent = is_rare * kept, (1 - is_rare) * kept
        # Whole numbers, as DL4J compares them; windows are those of all examples.
        n_rare, n_frequent = int(rare.sum()), int(frequent.sum())
        if n_frequent == 0 or (n_rare > 0 and not self.mask_minority_windows):
            return kept
        if n_rare == 0 and not self.mask_all_majority_windows:
            return kept * (1 - self.target)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = rare.sum(axis=1) / frequent.sum(axis=1)
        share = np.minimum(ratio * (1 - self.target) / self.target, 1.0)
        # An example that is masked whole has no ratio, and nothing to keep.
        found: _Numbers = frequent * np.nan_to_num(share)[:, None] + rare
        return found

    def _rare(self, labels: _Array) -> _Numbers:
        if labels.shape[2] == 2:
            rare: _Numbers = labels[:, :, self.minority].astype(np.float64)
            return rare
        ones = labels[:, :, 0].astype(np.float64)
        return ones if self.minority == 1 else 1 - ones

    def _checked(self, labels: _Array, mask: _Array | None) -> _Numbers:
        if labels.ndim != 3 or labels.shape[2] not in (1, 2):
            raise ShapeError(
                f"{self.who}: labels must be series of one or two classes, got shape "
                f"(batch, time, classes) = {labels.shape}."
            )
        steps = labels.shape[:2]
        if mask is not None and mask.shape != steps:
            raise ShapeError(
                f"{self.who}: labels_mask must have shape {steps}, got {mask.shape}."
            )
        kept = np.ones(steps) if mask is None else mask.astype(np.float64)
        sums = labels.sum(axis=2) * kept
        if labels.shape[2] == 2 and not np.allclose(sums, kept, rtol=0, atol=1e-5):
            raise DataError(f"{self.who}: labels of two classes must be one-hot.")
        return kept
