"""Checks that numbers of arrays are finite, with the place of the first other.

The smallest and the largest number of an array say so, since whatever compares with NaN
is NaN: one pass that takes no memory. Only an array that fails is looked at closely.
"""

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from daskdl.errors import DataError

__all__ = ["are_finite", "check_finite", "first_not_finite", "first_place"]
__all__ += ["refused_number"]


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
    # One that is less than half a digit above the largest number is rounded to it:
    # that is for the close look to tell.
    return float(values.min()) >= -most and float(values.max()) <= most


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
    row, *place = index
    where = f"row {row}"
    if place:
        where += f", column {place[0]}" if len(place) == 1 else f" at {tuple(place)}"
    got = refused_number(values[index].item(), dtype)
    raise DataError(f"{who}: {what} must hold finite numbers, got {got} in {where}.")


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


def refused_number(value: Any, dtype: DTypeLike | None = None) -> str:
    """Return a refused number as text, saying so if only the cast makes it infinite."""
    if dtype is None or not isinstance(value, float) or not np.isfinite(value):
        return repr(value)
    return f"{value!r}, which is too large for {np.dtype(dtype)},"
