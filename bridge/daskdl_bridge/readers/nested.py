"""Names that reach into structs: ``image.data`` is the field of a column ``image``.

A column that bears the very name comes first, and of several columns that a name may
reach into the one with the longest name.
"""

from collections.abc import Container, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["column_holding", "field_of", "type_of", "with_type"]


def column_holding(name: str, columns: Container[str]) -> str | None:
    """Return the column that a name is, or reaches into; None if there is none."""
    column = name
    while column not in columns:
        column, dot, _ = column.rpartition(".")
        if not dot:
            return None
    return column


def type_of(name: str, types: Mapping[str, Any]) -> Any:
    """Return the Arrow type of what a name stands for.

    Parameters
    ----------
    name : str
    types : mapping of str to pyarrow.DataType
        Of the columns.

    Returns
    -------
    pyarrow.DataType, or None
        None if there is no such column, or no such field in its struct.
    """
    column = column_holding(name, types)
    found: Any = None if column is None else types[column]
    for field in _fields(name, column):
        index = found.get_field_index(field) if _is_struct(found) else -1
        if index < 0:
            return None
        found = found.field(index).type
    return found


def field_of(values: Any, name: str, column: str) -> Any:
    """Return what a name stands for, out of the column that holds it.

    Parameters
    ----------
    values : pyarrow.Array of length rows
        The column.
    name, column : str
        The name, and that of the column.

    Returns
    -------
    pyarrow.Array of length rows
        Null where a struct on the way is.
    """
    path = _fields(name, column)
    return pc.struct_field(values, path) if path else values


def with_type(name: str, types: Mapping[str, Any], arrow_type: Any) -> dict[str, Any]:
    """Return types of columns in which that of one name is another."""
    column = column_holding(name, types)
    if column is None:
        return dict(types)
    changed = _with_field(types[column], _fields(name, column), arrow_type)
    return {**types, column: changed}


def _with_field(struct: Any, path: list[str], arrow_type: Any) -> Any:
    if not path:
        return arrow_type
    return pa.struct(
        [
            field.with_type(_with_field(field.type, path[1:], arrow_type))
            if field.name == path[0]
            else field
            for field in struct
        ]
    )


def _fields(name: str, column: str | None) -> list[str]:
    if column is None or name == column:
        return []
    return name[len(column) + 1 :].split(".")


def _is_struct(arrow_type: Any) -> bool:
    return arrow_type is not None and bool(pa.types.is_struct(arrow_type))
