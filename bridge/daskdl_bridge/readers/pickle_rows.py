"""Objects of Spark's pickle files as rows: what columns there are, and their values."""

import datetime
import decimal
import math
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from daskdl.checks import some
from daskdl.errors import ColumnError, DataError
from daskdl_bridge.readers.java_arrays import byte_arrays
from daskdl_bridge.readers.pickled_classes import LabeledPoint, PickledArray, Vector
from daskdl_bridge.readers.pickles import load_pickle
from daskdl_bridge.readers.types_of_rows import fits, types_of_rows
from daskdl_bridge.readers.vectors import VECTOR

__all__ = ["array_of_pickled", "columns_of_pickles", "pickle_types"]

# Of lists within lists.
_MOST_AXES = 8

_SINGLE = {bool: pa.bool_(), int: pa.int64(), float: pa.float64()}
_SINGLE |= {str: pa.string(), bytes: pa.binary(), type(None): pa.null()}
# A decimal as Spark infers it, whatever the first one has for digits.
_SINGLE |= {decimal.Decimal: pa.decimal128(38, 18), datetime.date: pa.date32()}
_SINGLE |= {datetime.timedelta: pa.duration("us")}
_INSTANT, _WALL_CLOCK = pa.timestamp("us", "UTC"), pa.timestamp("us")


def pickle_types(
    records: Sequence[tuple[bytes, str]], allow: Collection[str] = ()
) -> dict[str, Any]:
    """Return names and Arrow types of the columns that the first objects tell.

    Parameters
    ----------
    records : sequence of (bytes, str)
        Values of the first records, at least one, and what messages call each.
    allow : collection of str
        See `daskdl_bridge.readers.pickles.load_pickle`.

    Returns
    -------
    dict of str to pyarrow.DataType
        A pair of which the second is an array, a list, a vector or bytes has ``key``
        and ``value``, one whose second has columns of its own ``key`` and those, any
        other tuple ``_c0``, ``_c1`` and so on; a labelled point has ``label`` and
        ``features``, a dict or row its names. Else there is ``value``. What is null
        in the first object is as in the first one that tells.

    Raises
    ------
    DataError
        If there is no object, or the first is no example.
    CorruptFileError
        If the record is damaged.
    """
    types = types_of_rows(
        _types_of_object(one, name)
        for value, name in records
        for one in _objects(value, name, allow)
    )
    if not types:
        raise DataError(f"{records[0][1]}: must hold an object, got none.")
    return types


def _types_of_object(one: Any, name: str) -> dict[str, Any]:
    row = _named(one)
    types = {n: _arrow_type(value) for n, value in row.items()}
    for column, kind in types.items():
        if kind is None:
            raise _no_value(name, column, row[column])
    return types


def columns_of_pickles(
    value: bytes,
    types: dict[str, Any],
    columns: list[str],
    name: str,
    allow: Collection[str] = (),
) -> dict[str, list[Any]]:
    """Return the values that the columns of the objects of a record have.

    Parameters
    ----------
    value : bytes
        Of one record.
    types : dict of str to pyarrow.DataType
        As the first object of all told.
    columns : list of str
        Those to return.
    name : str
        Of the record, for messages.
    allow : collection of str
        See `daskdl_bridge.readers.pickles.load_pickle`.

    Raises
    ------
    ColumnError
        If an object has other columns than the first, or values of other types.
    DataError, CorruptFileError
        See `daskdl_bridge.readers.pickles.load_pickle`.
    """
    found: dict[str, list[Any]] = {column: [] for column in columns}
    for index, one in enumerate(_objects(value, name, allow)):
        row = _named(one)
        if row.keys() != types.keys():
            raise ColumnError(
                f"{name}: object {index} must have the columns {some(list(types))} as "
                f"the first of all does, got {some(list(row)) or 'none'}."
            )
        for column in columns:
            kind = _arrow_type(row[column])
            if kind is None or not fits(kind, types[column]):
                raise ColumnError(
                    f"{name}: column {column!r} must hold {types[column]} as in the "
                    f"first object, object {index} has {_in_words(row[column])}."
                )
            found[column].append(_plain(row[column]))
    return found


def array_of_pickled(values: list[Any], arrow_type: Any) -> Any:
    """Return values of a column as a pyarrow.Array, as `pyarrow.array` does.

    That takes arrays of several axes only as lists of small ones, which are larger
    than the numbers in them.
    """
    if not values or not all(_has_axes(one) for one in values):
        return pa.array(
            [one.tolist() if _has_axes(one) else one for one in values], arrow_type
        )
    made = pa.array(np.concatenate([one.ravel() for one in values]))
    for axis in reversed(range(values[0].ndim)):
        lengths = [
            np.full(math.prod(one.shape[:axis]), one.shape[axis]) for one in values
        ]
        offsets = np.cumsum(np.concatenate([[0], *lengths]), dtype=np.int32)
        made = pa.ListArray.from_arrays(pa.array(offsets), made)
    return made


def _has_axes(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.ndim > 1


def _objects(value: bytes, name: str, allow: Collection[str]) -> Iterator[Any]:
    for index, data in enumerate(byte_arrays(value, name)):
        batch = load_pickle(data, f"{name}: pickle {index}", allow)
        yield from batch if isinstance(batch, list) else [batch]


def _named(one: Any) -> dict[str, Any]:
    """Return the values of a row by the names of their columns."""
    if isinstance(one, dict):
        return one
    if isinstance(one, LabeledPoint):
        return {"label": one.label, "features": one.features}
    if not isinstance(one, tuple):
        return {"value": one}
    if len(one) == 2 and isinstance(one[1], LabeledPoint | dict):
        columns = _named(one[1])
        if "key" not in columns:
            return {"key": one[0], **columns}
    if len(one) == 2 and isinstance(
        one[1], PickledArray | Vector | list | tuple | bytes
    ):
        return dict(zip(("key", "value"), one, strict=True))
    return {f"_c{index}": value for index, value in enumerate(one)}


def _arrow_type(value: Any, n_axes: int = 0) -> Any:
    """Return the type of a column of such values, None if they are none."""
    if type(value) in _SINGLE:
        return _SINGLE[type(value)]
    if isinstance(value, datetime.datetime):
        return _WALL_CLOCK if value.tzinfo is None else _INSTANT
    if isinstance(value, Vector):
        return VECTOR
    if isinstance(value, PickledArray) and value.array is not None:
        kind = pa.from_numpy_dtype(value.array.dtype)
        for _ in range(value.array.ndim):
            kind = pa.list_(kind)
        return kind
    if isinstance(value, list | tuple) and n_axes < _MOST_AXES:
        return _list_type(value, n_axes)
    return None


def _list_type(values: Any, n_axes: int) -> Any:
    first = next((value for value in values if value is not None), None)
    kind = _arrow_type(first, n_axes + 1)
    if kind is None or isinstance(first, PickledArray | Vector):
        return None
    # Where one list begins with a whole number, another does not.
    return pa.list_(pa.float64() if kind == pa.int64() else kind)


def _plain(value: Any) -> Any:
    if isinstance(value, PickledArray):
        return value.array
    if isinstance(value, Vector):
        is_dense = value.indices is None
        return {
            "type": int(is_dense),
            "size": value.size,
            "indices": value.indices,
            "values": value.values,
        }
    return value


def _no_value(name: str, column: str, value: Any) -> DataError:
    return DataError(
        f"{name}: column {column!r} must hold numbers, texts, bytes, dates, lists of "
        f"those, arrays or vectors, got {_in_words(value)}. Have Spark write other "
        "objects, or Parquet."
    )


def _in_words(value: Any) -> str:
    kind = _arrow_type(value)
    return f"a {type(value).__name__}" if kind is None else str(kind)
