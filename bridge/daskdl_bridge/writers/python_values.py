"""Columns as Python's values: what files are made of that are written row by row."""

import datetime
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from daskdl_bridge.readers.arrays import is_list
from daskdl_bridge.readers.vectors import VECTOR

__all__ = ["python_values"]


def python_values(column: Any) -> list[Any]:
    """Return the values of a column of a table that Spark knows.

    Parameters
    ----------
    column : pyarrow.Array or pyarrow.ChunkedArray of length rows

    Returns
    -------
    list of length rows
        Vectors are lists of floats, structs and maps are dicts, and instants are in
        UTC, of Python's own time zone: pickles must need no other package.
    """
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if column.type == VECTOR and _are_dense(column):
        column = column.field("values")
    convert = _converter(column.type)
    values: list[Any] = column.to_pylist()
    if convert is None:
        return values
    return [None if value is None else convert(value) for value in values]


def _are_dense(vectors: Any) -> bool:
    # The values of a vector that is null need not be null.
    n_sparse = len(vectors) - vectors.field("indices").null_count
    return not vectors.null_count and not n_sparse


def _converter(arrow_type: Any) -> Callable[[Any], Any] | None:
    """Return what makes a value of Arrow's a plain one; None if it is one."""
    if arrow_type == VECTOR:
        return _dense
    if is_list(arrow_type):
        element = _converter(arrow_type.value_type)
        return None if element is None else lambda items: _all(element, items)
    if pa.types.is_map(arrow_type):
        item = _converter(arrow_type.item_type) or _same
        return lambda pairs: {k: None if v is None else item(v) for k, v in pairs}
    if pa.types.is_struct(arrow_type):
        fields = {field.name: _converter(field.type) or _same for field in arrow_type}
        return lambda row: {
            name: None if value is None else fields[name](value)
            for name, value in row.items()
        }
    if pa.types.is_timestamp(arrow_type) and arrow_type.tz:
        return lambda instant: instant.astimezone(datetime.timezone.utc)
    return None


def _all(convert: Callable[[Any], Any], items: list[Any]) -> list[Any]:
    return [None if item is None else convert(item) for item in items]


def _same(value: Any) -> Any:
    return value


def _dense(vector: dict[str, Any]) -> list[float]:
    if vector["indices"] is None:
        return list(vector["values"])
    dense = [0.0] * vector["size"]
    for index, value in zip(vector["indices"], vector["values"], strict=True):
        dense[index] = value
    return dense
