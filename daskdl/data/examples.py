"""Checks of the examples that a source has loaded."""

import math
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from daskdl.data.finite import first_not_finite, first_place, refused_number
from daskdl.data.row_number import RowNumber, row_in_words
from daskdl.errors import ColumnError, DataError

__all__ = ["checked_features", "checked_mask", "first_bad_row"]


def checked_features(
    values: NDArray[Any],
    *,
    name: str,
    column: str,
    n_features: int | None = None,
    feature_shape: tuple[int, ...] | None = None,
    dtype: DTypeLike = np.float32,
    first_row: RowNumber = 0,
    are_finite: bool = False,
) -> NDArray[Any]:
    """Return features as finite numbers of the width and shape that is asked for.

    Parameters
    ----------
    values : ndarray of shape (batch,) or (batch, ...)
        One number an example becomes a column.
    name, column : str
        Of the partition and the column (or columns), for messages.
    n_features : int, optional
        Numbers that an example must have.
    feature_shape : tuple of int, optional
        Shape that rows are brought to, in C order. Of an array that has more axes only
        axes of length 1 are put in or left out: others would be mixed up.
    dtype : dtype
        What the features are cast to.
    first_row : int or RowNumber
        Number of the first row in the partition, for messages.
    are_finite : bool
        Whether the numbers are known to be finite, and to stay so after the cast.

    Returns
    -------
    ndarray of shape (batch, width), (batch, *feature_shape), or as given
        Not copied if it has the dtype already.

    Raises
    ------
    ColumnError
        If an example has another number of features than asked for.
    DataError
        If a value is missing, no number, or not finite after the cast; with the first
        such row.
    """
    values = values[:, None] if values.ndim == 1 else values
    width = math.prod(values.shape[1:])
    wanted = math.prod(feature_shape) if feature_shape is not None else n_features
    if wanted is not None and width != wanted:
        raise ColumnError(
            f"{name}: column {column!r} must hold {wanted} numbers an example, got "
            f"{width}."
        )
    found = None if are_finite else first_bad_row(values, dtype)
    if found is not None:
        row, value = found
        raise DataError(
            f"{name}: column {column!r} must hold finite numbers, got "
            f"{refused_number(value, dtype)} in {row_in_words(first_row + row)}."
            f"{_of_cast(value, values.dtype)}"
        )
    shape = values.shape[1:] if feature_shape is None else feature_shape
    if values.ndim > 2 and _long_axes(shape) != _long_axes(values.shape[1:]):
        raise ColumnError(
            f"{name}: column {column!r} must hold rows, or arrays of shape {shape}, "
            f"got {values.shape[1:]}. Say where the channels are with data_format, or "
            "transpose the arrays."
        )
    return values.astype(dtype, copy=False).reshape(len(values), *shape)


def _of_cast(value: Any, dtype: np.dtype[Any]) -> str:
    """Say that a number may be infinite only since it was cast while it was read."""
    if dtype.itemsize < 8 and isinstance(value, float) and math.isinf(value):
        return f" It may have been a number that is too large for {dtype}."
    return ""


def checked_mask(
    values: NDArray[Any],
    *,
    name: str,
    column: str,
    dtype: DTypeLike = np.float32,
    first_row: RowNumber = 0,
) -> NDArray[Any]:
    """Return a mask of ones and zeros.

    Parameters
    ----------
    values : ndarray of shape (batch,) or (batch, time)
    name, column, dtype, first_row
        As in `checked_features`.

    Returns
    -------
    ndarray of shape (batch, 1) or (batch, time)

    Raises
    ------
    DataError
        If a value is neither 0 nor 1; with the first such row.
    """
    mask = checked_features(
        values, name=name, column=column, dtype=dtype, first_row=first_row
    )
    place = first_place(~np.isin(mask, (0, 1)))
    if place is not None:
        raise DataError(
            f"{name}: mask column {column!r} must hold only 0 and 1, got "
            f"{mask[place]!s} in {row_in_words(first_row + int(place[0]))}."
        )
    return mask


def first_bad_row(
    values: NDArray[Any], dtype: DTypeLike | None = None
) -> tuple[int, Any] | None:
    """Return the first row with a value that is no finite number, and that value.

    Parameters
    ----------
    values : ndarray of shape (batch, ...)
    dtype : dtype, optional
        What the values will be cast to; one too large for it counts as infinite.

    Returns
    -------
    (int, value) or None
        None if all is well.
    """
    if values.dtype.kind in "biuf":
        place = first_not_finite(values, dtype)
    else:
        is_good = np.frompyfunc(_is_finite_number, 1, 1)(values).astype(bool)
        place = first_place(~is_good)
    if place is None:
        return None
    value = values[place]
    return place[0], value.item() if isinstance(value, np.generic) else value


def _long_axes(shape: tuple[int, ...]) -> list[int]:
    return [length for length in shape if length != 1]


def _is_finite_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number | np.bool_) and bool(
        np.isfinite(value)
    )
