"""Checks that numbers of arrays are finite, with the place of the first other.

The sum of all squares says so, in one pass that takes no memory: what is added to NaN
or to infinity is not finite either. Where it says no, the smallest and the largest
number do, and only an array that fails is looked at closely.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from daskdl.errors import DataError

__all__ = ["are_finite", "check_finite", "check_mask", "first_not_finite"]
__all__ += ["first_place", "refused_number"]


def are_finite(values: NDArray[Any], dtype: DTypeLike | None = None) -> bool:
    """Say whether all numbers are finite, and stay so in `dtype`.

    Parameters
    ----------
    values : ndarray of any shape, bool, int or float
    dtype : dtype, optional
        What they will be cast to: one that is too large for it counts as infinite.
    """
    if values.dtype.kind != "f" or not values.size:
        return True
    most = float(np.finfo(values.dtype if dtype is None else dtype).max)
    if _root_of_squares(values) <= most:
        return True
    # One that is less than half a digit above the largest number is rounded to it:
    # that is for the close look to tell.
    return float(values.min()) >= -most and float(values.max()) <= most


def _root_of_squares(values: NDArray[Any]) -> float:
    """Return what no number exceeds in size; NaN or infinite if that is not known."""
    if values.dtype not in (np.float32, np.float64) or not values.flags.c_contiguous:
        return math.inf
    flat = values.reshape(-1)
    # By BLAS, from as many threads as it has.
    with np.errstate(over="ignore", invalid="ignore"):
        return math.sqrt(np.dot(flat, flat))


def check_finite(
    who: str,
    what: str,
    values: NDArray[Any],
    *,
    dtype: DTypeLike | None = None,
    counts: NDArray[np.bool_] | None = None,
) -> None:
    """Refuse numbers that are not finite, or too large for the dtype of the network.

    Parameters
    ----------
    who, what : str
        What messages call the data, and this array of them.
    values : ndarray of shape (batch, ...)
    dtype : dtype, optional
        As for :func:`are_finite`.
    counts : ndarray of bool, optional
        Broadcasts to `values`: where it is False, anything may stand.

    Raises
    ------
    DataError
        With the first such number, its row and its place in the row.
    """
    index = first_not_finite(values, dtype, counts)
    if index is None:
        return
    got = refused_number(values[index].item(), dtype)
    raise DataError(
        f"{who}: {what} must hold finite numbers, got {got} in {_where(index)}."
    )


def check_mask(
    who: str, what: str, mask: NDArray[Any], *, dtype: DTypeLike | None = None
) -> None:
    """Refuse a mask with a number that is not finite, or below 0.

    0 drops, 1 keeps, and what else is there weighs.

    Parameters
    ----------
    who, what : str
        What messages call the data, and this mask of them.
    mask : ndarray of shape (batch, ...)
    dtype : dtype, optional
        As for :func:`are_finite`.

    Raises
    ------
    DataError
        With the first such number, its row and its place in the row.
    """
    check_finite(who, what, mask, dtype=dtype)
    if mask.dtype.kind in ("b", "u") or not mask.size or mask.min() >= 0:
        return
    index = first_place(mask < 0)
    if index is not None:
        raise DataError(
            f"{who}: {what} must hold 0 for what is dropped, 1 for what is kept or "
            f"weights above 0, got {mask[index].item()!r} in {_where(index)}."
        )


def first_not_finite(
    values: NDArray[Any],
    dtype: DTypeLike | None = None,
    counts: NDArray[np.bool_] | None = None,
) -> tuple[int, ...] | None:
    """Return the index of the first number that is not finite; None if all are.

    Parameters are those of :func:`check_finite`.
    """
    if are_finite(values, dtype):
        return None
    with np.errstate(over="ignore"):
        cast = values if dtype is None else values.astype(dtype, copy=False)
    is_bad = ~np.isfinite(cast)
    if counts is not None:
        is_bad &= counts
    return first_place(is_bad)


def first_place(flags: NDArray[np.bool_]) -> tuple[int, ...] | None:
    """Return the index of the first flag that is set; None if none is.

    `flags` may be of any shape; the index has one number an axis.
    """
    if not flags.any():
        return None
    return tuple(map(int, np.unravel_index(int(flags.argmax()), flags.shape)))


def _where(index: tuple[int, ...]) -> str:
    row, *place = index
    if not place:
        return f"row {row}"
    if len(place) == 1:
        return f"row {row}, column {place[0]}"
    return f"row {row} at {tuple(place)}"


def refused_number(value: Any, dtype: DTypeLike | None = None) -> str:
    """Return a refused number as text, saying so if only the cast makes it infinite."""
    if dtype is None or not isinstance(value, float) or not np.isfinite(value):
        return repr(value)
    return f"{value!r}, which is too large for {np.dtype(dtype)},"
