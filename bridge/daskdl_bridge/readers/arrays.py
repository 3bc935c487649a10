"""Columns of numbers, and of lists of numbers, to arrays."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import DTypeLike, NDArray

from daskdl.arrays.namespace import FloatArray
from daskdl.errors import ColumnError, DataError
from daskdl_bridge.readers.buffers import as_numpy
from daskdl_bridge.readers.error_location import ErrorLocation, first_true

__all__ = [
    "cast_numbers",
    "decode_lists",
    "decode_numbers",
    "innermost",
    "is_list",
    "is_number",
]


def is_number(arrow_type: Any) -> bool:
    """Tell whether values of a type can be features or labels by themselves."""
    return bool(
        pa.types.is_integer(arrow_type)
        or pa.types.is_floating(arrow_type)
        or pa.types.is_decimal(arrow_type)
        or pa.types.is_boolean(arrow_type)
    )


def is_list(arrow_type: Any) -> bool:
    """Tell whether a type is a list, whatever its layout and its elements."""
    return bool(
        pa.types.is_list(arrow_type)
        or pa.types.is_large_list(arrow_type)
        or pa.types.is_fixed_size_list(arrow_type)
    )


def innermost(arrow_type: Any) -> Any:
    """Return the type of the elements of lists within lists."""
    while is_list(arrow_type):
        arrow_type = arrow_type.value_type
    return arrow_type


def decode_numbers(column: Any, place: ErrorLocation, dtype: DTypeLike) -> FloatArray:
    """Turn a column of numbers into an array.

    Parameters
    ----------
    column : pyarrow.Array of length rows
        Integers, floats, decimals or booleans.
    place : ErrorLocation
        For messages.
    dtype : dtype
        float32 or float64.

    Returns
    -------
    ndarray of shape (rows,)

    Raises
    ------
    DataError
        If a row is null.
    """
    if column.null_count:
        place.refuse_nulls(as_numpy(column.is_null()))
    if pa.types.is_decimal(column.type):
        column = pc.cast(column, pa.float64())
    return cast_numbers(as_numpy(column), dtype)


def decode_lists(column: Any, place: ErrorLocation, dtype: DTypeLike) -> FloatArray:
    """Turn a column of lists of equal length into an array.

    Parameters
    ----------
    column : pyarrow.Array of length rows
        Lists, or lists of lists and so on, of numbers.
    place : ErrorLocation
        For messages.
    dtype : dtype
        float32 or float64.

    Returns
    -------
    ndarray of shape (rows, length) or (rows, length, length of the inner lists, ...)

    Raises
    ------
    DataError
        If lists differ in length, or one or an element is null.
    ColumnError
        If the elements are no numbers.
    """
    if not is_number(innermost(column.type)):
        raise ColumnError(f"{place} must hold lists of numbers, got {column.type}.")
    shape = [len(column)]
    while is_list(column.type):
        rows_each = int(np.prod(shape[1:])) if len(shape) > 1 else 1
        if column.null_count:
            place.refuse_nulls(_any_in_row(column, rows_each))
        shape.append(_common_length(column, rows_each, place))
        column = column.flatten()
    _refuse_null_elements(column, shape, place)
    if pa.types.is_decimal(column.type):
        column = pc.cast(column, pa.float64())
    return cast_numbers(as_numpy(column), dtype).reshape(shape)


def _any_in_row(column: Any, rows_each: int) -> NDArray[np.bool_]:
    is_null: NDArray[np.bool_] = as_numpy(column.is_null())
    if rows_each > 1:
        is_null = np.any(is_null.reshape(-1, rows_each), axis=1)
    return is_null


def _common_length(column: Any, rows_each: int, place: ErrorLocation) -> int:
    if pa.types.is_fixed_size_list(column.type):
        return int(column.type.list_size)
    lengths = as_numpy(pc.list_value_length(column))
    if not len(lengths):
        return 0
    differs = lengths != lengths[0]
    if differs.any():
        at = first_true(differs)
        raise DataError(
            f"{place} must hold lists of one length; {place.row(0)} has "
            f"{int(lengths[0])}, {place.row(at // max(rows_each, 1))} has "
            f"{int(lengths[at])}. Time series of several lengths need align."
        )
    return int(lengths[0])


def _refuse_null_elements(column: Any, shape: list[int], place: ErrorLocation) -> None:
    if not column.null_count:
        return
    at = first_true(as_numpy(column.is_null()))
    row, element = divmod(at, int(np.prod(shape[1:])))
    raise DataError(
        f"{place} must hold lists without null, element {element} of {place.row(row)} "
        "is null."
    )


def cast_numbers(values: NDArray[Any], dtype: DTypeLike) -> FloatArray:
    """Cast to a float dtype, any shape; without a copy if it is that already."""
    # What overflows becomes infinite and is refused where infinite numbers are.
    with np.errstate(over="ignore"):
        return np.asarray(values).astype(dtype, copy=False)
