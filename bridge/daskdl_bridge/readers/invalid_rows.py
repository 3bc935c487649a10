"""Rows that cannot become examples, where they are skipped, or kept unpredicted.

Invalid is what a value is by itself: null, NaN, infinite, no class, no image. What is
wrong between rows, such as arrays of different lengths, is wrong of the column.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import DTypeLike, NDArray

from daskdl.data.row_number import RowNumber
from daskdl_bridge.readers.arrays import cast_numbers, is_list, is_number
from daskdl_bridge.readers.buffers import as_numpy
from daskdl_bridge.readers.images import (
    is_binary,
    is_image_struct,
    unreadable_images,
)
from daskdl_bridge.readers.vectors import is_vector

__all__ = ["NumberOfValid", "invalid_rows"]


@dataclass(frozen=True, eq=False)
class NumberOfValid:
    """The number that a valid row has among all, for messages; see `RowNumber`.

    Parameters
    ----------
    first_row : int or RowNumber
        Of the first row, valid or not.
    is_valid : ndarray of shape (rows,), bool
    row : int
        Counted through the valid ones.
    """

    first_row: RowNumber
    is_valid: NDArray[np.bool_]
    row: int = 0

    def __add__(self, rows: int, /) -> "NumberOfValid":
        return replace(self, row=self.row + rows)

    def __str__(self) -> str:
        return str(self.first_row + int(np.flatnonzero(self.is_valid)[self.row]))


def invalid_rows(
    column: Any, dtype: DTypeLike, *, n_classes: int | None = None, as_series: bool
) -> NDArray[np.bool_]:
    """Tell which rows of a column cannot be used.

    Parameters
    ----------
    column : pyarrow.Array of length rows
        Of a type that can become numbers.
    dtype : dtype
        What numbers are cast to: one that is too large for it counts as infinite.
    n_classes : int, optional
        Numbers are those of classes.
    as_series : bool
        Arrays are time series, and one without a step cannot be used.

    Returns
    -------
    ndarray of shape (rows,), bool
    """
    is_null: NDArray[np.bool_] = as_numpy(column.is_null())
    if is_vector(column.type):
        # pyarrow gives what lies below a null, too, which is nothing.
        values = column.field("values")
        return is_null | _has_invalid(values, dtype, None, as_series=False)
    if is_list(column.type):
        if as_series:
            is_null = is_null | as_numpy(
                pc.fill_null(pc.equal(pc.list_value_length(column), 0), False)
            )
        return is_null | _has_invalid(column, dtype, n_classes, as_series=as_series)
    if is_binary(column.type):
        return is_null | unreadable_images(column)
    if is_number(column.type):
        return is_null | _are_invalid(column, dtype, n_classes)
    if is_image_struct(column.type):
        is_null = is_null | as_numpy(column.field("data").is_null())
    return is_null


def _has_invalid(
    lists: Any, dtype: DTypeLike, n_classes: int | None, *, as_series: bool
) -> NDArray[np.bool_]:
    """Tell which lists hold an element that cannot be used."""
    elements = pc.list_flatten(lists)
    # Of the class numbers of a series each is one, arrays are one-hot rows.
    classes = n_classes if as_series and is_number(elements.type) else None
    is_invalid = invalid_rows(elements, dtype, n_classes=classes, as_series=False)
    found = np.zeros(len(lists), np.bool_)
    found[as_numpy(pc.list_parent_indices(lists))[is_invalid]] = True
    return found


def _are_invalid(
    column: Any, dtype: DTypeLike, n_classes: int | None
) -> NDArray[np.bool_]:
    if pa.types.is_decimal(column.type) or column.null_count:
        column = pc.fill_null(pc.cast(column, pa.float64(), safe=False), np.nan)
    values = as_numpy(column)
    if n_classes is None:
        return ~np.isfinite(cast_numbers(values, dtype))
    numbers = cast_numbers(values, np.float64)
    is_class = (numbers == np.floor(numbers)) & (numbers >= 0) & (numbers < n_classes)
    return np.asarray(~is_class)
