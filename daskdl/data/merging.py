"""Joining arrays of examples, time series of different lengths among them.

DL4J's rule: only rank 3 in its format (batch, features, time) may differ, and only in
time; what is missing at the end is filled with zeros and dropped by a mask. Here labels
may also be the number of a class at each step, (batch, time), series with masks may be
(batch, time, features), and such that are aligned at their ends are filled at their
beginning.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from daskdl.data.time_series import Alignment
from daskdl.errors import DataError, ShapeError

__all__ = ["lengths_of_series", "merge_arrays", "merge_keys", "merge_masks"]

_Arrays = Sequence[NDArray[Any] | None]
_Lengths = Sequence[set[int]]


def lengths_of_series(arrays: Sequence[NDArray[Any]]) -> set[int]:
    """Return how long the time series (batch, features, time) among arrays are."""
    return {array.shape[2] for array in arrays if array.ndim == 3}


def merge_arrays(
    who: str,
    name: str,
    arrays: _Arrays,
    *,
    masks: _Arrays = (),
    lengths: _Lengths = (),
    align: Alignment = "start",
) -> NDArray[Any] | None:
    """Join arrays along axis 0, filling shorter time series with zeros.

    Parameters
    ----------
    who, name : str
        For messages.
    arrays : sequence of (ndarray of shape (batch, ...) or None)
        None for all, or for none.
    masks : sequence of (ndarray of shape (batch, time) or None), optional
        Those of the arrays.
    lengths : sequence of set of int, optional
        Of the time series that go with each array: arrays (batch, time) that are as
        long are series, too.
    align : {"start", "end", "equal_length"}
        Where the steps of shorter series stand.

    Returns
    -------
    ndarray or None
        A new array; None if all were None.

    Raises
    ------
    DataError
        If some are None and others not.
    ShapeError
        If the shapes of the examples differ in more than the length in time, or in
        that though it must be equal.
    """
    present = _all_or_none(who, name, arrays)
    if not present:
        return None
    shapes = {array.shape[1:] for array in present}
    if len(shapes) == 1:
        return np.concatenate(present)
    axis = _time_axis(arrays, masks, lengths)
    if axis is None or len({_but(axis, shape) for shape in shapes}) > 1:
        raise ShapeError(
            f"{who}: examples of {name} must have one shape, or differ only in time "
            f"as (batch, features, time), got {sorted(shapes)}."
        )
    if align == "equal_length":
        raise ShapeError(
            f"{who}: time series of {name} must have one length with "
            f"align='equal_length', got {sorted({a.shape[axis] for a in present})}."
        )
    time = max(array.shape[axis] for array in present)
    return np.concatenate([_padded(array, axis, time, align) for array in present])


def merge_masks(
    who: str,
    name: str,
    arrays: _Arrays,
    masks: _Arrays,
    *,
    lengths: _Lengths = (),
    align: Alignment = "start",
) -> NDArray[Any] | None:
    """Join masks along axis 0; missing masks that are needed keep all steps.

    Parameters
    ----------
    who, name : str
        For messages.
    arrays : sequence of (ndarray of shape (batch, ...) or None)
        What the masks belong to.
    masks : sequence of (ndarray of shape (batch, n) or None)
        As given with the arrays.
    lengths, align
        As for :func:`merge_arrays`.

    Returns
    -------
    ndarray or None
        None if no mask is needed: none was given, and all lengths agree.

    Raises
    ------
    ShapeError
        If the masks differ in their shape beyond what filling up in time explains.
    """
    axis = _time_axis(arrays, masks, lengths)
    steps = [None if a is None or axis is None else a.shape[axis] for a in arrays]
    differ = len(set(steps)) > 1
    given = [mask for mask in masks if mask is not None]
    if not differ and not given:
        return None
    dtype = given[0].dtype if given else np.dtype(np.float32)
    width = max(length or 0 for length in steps) if differ else given[0].shape[1]
    joined = []
    for array, mask, length in zip(arrays, masks, steps, strict=True):
        if mask is None and array is not None:
            mask = np.ones((len(array), (length if differ else width) or 1), dtype)
        if mask is not None:
            joined.append(_filled(who, name, mask, width, align))
    return np.concatenate(joined)


def merge_keys(who: str, keys: _Arrays) -> NDArray[Any] | None:
    """Join the keys of the examples, (n,) each; None if no data set has any.

    Raises
    ------
    DataError
        If only some have keys.
    """
    present = _all_or_none(who, "keys", keys)
    return np.concatenate(present) if present else None


def _but(axis: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of an example without an axis of the batch."""
    return shape[: axis - 1] + shape[axis:]


def _time_axis(arrays: _Arrays, masks: _Arrays, lengths: _Lengths) -> int | None:
    """Return the axis in which arrays may differ in length; None if they may not."""
    present = [array for array in arrays if array is not None]
    if all(array.ndim == 3 for array in present):
        # Masks are of time, and the number of features does not differ.
        is_time_first = len(masks) == len(arrays) and all(
            array is not None and mask is not None and mask.shape[1] == array.shape[1]
            for array, mask in zip(arrays, masks, strict=True)
        )
        return 1 if is_time_first and len({a.shape[2] for a in present}) == 1 else 2
    are_series = len(lengths) == len(arrays) and all(
        array is None or (array.ndim == 2 and array.shape[1] in known)
        for array, known in zip(arrays, lengths, strict=True)
    )
    return 1 if are_series else None


def _filled(
    who: str, name: str, mask: NDArray[Any], width: int, align: Alignment
) -> NDArray[Any]:
    if mask.ndim != 2 or mask.shape[1] > width:
        raise ShapeError(
            f"{who}: {name} must have shape (batch, {width}), got {mask.shape}."
        )
    return _padded(mask, 1, width, align)


def _padded(
    array: NDArray[Any], axis: int, width: int, align: Alignment
) -> NDArray[Any]:
    """Return an array whose axis of time has the width."""
    missing = width - array.shape[axis]
    padding = [(0, 0)] * array.ndim
    padding[axis] = (missing, 0) if align == "end" else (0, missing)
    return np.pad(array, padding)


def _all_or_none(who: str, name: str, arrays: _Arrays) -> list[NDArray[Any]]:
    present = [array for array in arrays if array is not None]
    if present and len(present) != len(arrays):
        first = next(i for i, array in enumerate(arrays) if array is None)
        raise DataError(
            f"{who}: all data sets or none must have {name}, got none in number "
            f"{first} of {len(arrays)}."
        )
    return present
