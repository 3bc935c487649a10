"""Keys in the type in which they are stored, the same in every part.

In memory keys are NumPy and Python values, which do not tell a decimal(12,2) from a
decimal(3,2), nor an integer column that is null throughout a file from any other.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from daskdl.errors import ColumnError
from daskdl_bridge.listing import Part
from daskdl_bridge.readers.buffers import as_arrow
from daskdl_bridge.readers.columns import ExampleColumns
from daskdl_bridge.readers.error_location import ErrorLocation
from daskdl_bridge.readers.nested import type_of

__all__ = ["as_instants", "as_kept", "as_stored", "with_key_type"]

_MISFITS = (
    pa.ArrowInvalid,
    pa.ArrowTypeError,
    pa.ArrowNotImplementedError,
    # Python integers beyond 64 bits.
    OverflowError,
)


def with_key_type(
    columns: ExampleColumns, parts: Sequence[Part], types: Sequence[Mapping[str, Any]]
) -> ExampleColumns:
    """Settle the types of keys, and of columns that are kept, over all parts.

    Parameters
    ----------
    columns : ExampleColumns
        As resolved.
    parts : sequence of Part
        All files; a column may be one of their partition columns.
    types : sequence of mapping of str to pyarrow.DataType
        Stored columns of each part; one mapping where that is settled for all. Some
        may not have the key.

    Returns
    -------
    ExampleColumns
        With `key_types` and `kept_types`: the narrowest that hold the values of all
        parts.

    Raises
    ------
    ColumnError
        If no type does.
    """
    return replace(
        columns,
        key_types=tuple(_settled(name, parts, types) for name in columns.keys),
        kept_types=tuple(_settled(name, parts, types) for name in columns.kept),
    )


def as_kept(column: Any, kept_type: Any, place: ErrorLocation) -> Any:
    """Return a column in the type that all files share.

    Parameters
    ----------
    column : pyarrow.Array of length rows
    kept_type : pyarrow.DataType
        As settled by `with_key_type`.
    place : ErrorLocation
        For messages.

    Raises
    ------
    ColumnError
        If it cannot be cast.
    """
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    try:
        return column.cast(kept_type)
    except _MISFITS as error:
        raise ColumnError(
            f"{place} must hold {kept_type}, its type in all files, got {column.type} "
            f"that does not fit: {error}. Write the column anew with one type."
        ) from error


def as_stored(keys: NDArray[Any], key_type: Any, place: ErrorLocation) -> Any:
    """Turn keys back into the type in which they are stored.

    Parameters
    ----------
    keys : ndarray of shape (rows,)
        As they stand in a data set.
    key_type : pyarrow.DataType
        As settled by `with_key_type`.
    place : ErrorLocation
        For messages.

    Returns
    -------
    pyarrow.Array of length rows

    Raises
    ------
    ColumnError
        If a key does not fit the type.
    """
    # Arrays without rows may have any dtype; datetime64 must not become a list.
    is_list = keys.dtype == object or not len(keys)
    try:
        if is_list:
            return pa.array(list(map(_as_plain, keys.tolist())), key_type)
        return as_arrow(keys).cast(key_type)
    except _MISFITS as error:
        row = next((i for i in range(len(keys)) if not _fits(keys[i], key_type)), 0)
        raise ColumnError(
            f"{place} must hold {key_type}, the type of the keys in all files, got "
            f"{keys[row]!r} in {place.row(row)}. Write the column anew with one type."
        ) from error


def as_instants(arrow_type: Any) -> Any:
    """Return the type of a column of INT96 as Spark means it.

    Arrow takes nanoseconds for granted there and knows of no time zone; Spark holds
    instants in microseconds.
    """
    if arrow_type == pa.timestamp("ns"):
        return pa.timestamp("us", "UTC")
    if pa.types.is_list(arrow_type):
        return pa.list_(as_instants(arrow_type.value_type))
    if pa.types.is_struct(arrow_type):
        return pa.struct(
            [field.with_type(as_instants(field.type)) for field in arrow_type]
        )
    return arrow_type


def _settled(
    name: str, parts: Sequence[Part], types: Sequence[Mapping[str, Any]]
) -> Any:
    if name in parts[0].types:
        return parts[0].types[name]
    # A file may lack the column.
    found = [type_of(name, here) for here in types]
    settled = _plain(next(one for one in found if one is not None))
    for part, here in zip(parts, found, strict=False):
        if here is not None:
            place = ErrorLocation(part.url, name)
            settled = _widened(settled, _plain(here), place)
    return settled


def _plain(arrow_type: Any) -> Any:
    """Return the type of the values, without a dictionary or an extension."""
    if pa.types.is_dictionary(arrow_type):
        return _plain(arrow_type.value_type)
    if isinstance(arrow_type, pa.BaseExtensionType):
        return _plain(arrow_type.storage_type)
    return arrow_type


def _widened(settled: Any, here: Any, place: ErrorLocation) -> Any:
    if here == settled:
        return settled
    schemas = [pa.schema([(place.column, kind)]) for kind in (settled, here)]
    try:
        wider = pa.unify_schemas(schemas, promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise ColumnError(
            f"{place} must have one type in all files to be the key, or to be kept, "
            f"got {here} after {settled}. Write the column anew with one type."
        ) from error
    return wider.field(0).type


def _as_plain(key: Any) -> Any:
    # Times of nanoseconds, of which Arrow takes the number.
    return key.item() if isinstance(key, np.datetime64) else key


def _fits(key: Any, key_type: Any) -> bool:
    try:
        pa.array([key], key_type)
    except _MISFITS:
        return False
    return True
