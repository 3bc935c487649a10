"""Hadoop's Writables as bytes, by the type of a column.

Those that PySpark reads as Python's objects: numbers, texts, bytes, booleans, and
MapWritables of them as dicts. There is none for dates, times and decimals.
"""

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from daskdl.errors import DataError
from daskdl_bridge.readers.arrays import is_list
from daskdl_bridge.readers.vectors import VECTOR
from daskdl_bridge.readers.vints import encode_vint

__all__ = ["StoredWritable", "encode_bytes", "map_of", "stored_writable"]

_PACKAGE = "org.apache.hadoop.io."

# The numbers of classes that a MapWritable knows without their names.
_KNOWN = MappingProxyType(
    {"Boolean": -126, "Bytes": -125, "Float": -124, "Int": -123, "Long": -122}
    | {"Map": -121, "Null": -119, "Text": -116}
)
# One that it does not know has a name in each map, and a number from 1 on.
_FIRST_NAMED = 1


@dataclass(frozen=True)
class StoredWritable:
    """A class of keys or values, and how one is written.

    Parameters
    ----------
    kind : str
        Of which the class is named.
    encode : callable
        From a Python value that is not None to the bytes of one.
    """

    kind: str
    encode: Callable[[Any], bytes]

    @property
    def name(self) -> str:
        """Of the Java class."""
        ending = "" if self.kind == "Text" else "Writable"
        return f"{_PACKAGE}{self.kind}{ending}"

    @property
    def is_map(self) -> bool:
        """Whether it is a collection."""
        return self.kind == "Map"


def stored_writable(arrow_type: Any, column: str) -> StoredWritable:
    """Return the class for the values of a column.

    Parameters
    ----------
    arrow_type : pyarrow.DataType
        One that Spark knows. Vectors and lists are maps of their indices, structs of
        their names.
    column : str
        For messages.

    Raises
    ------
    DataError
        If no class of Hadoop that PySpark reads is for such values.
    """
    if arrow_type in _WRITABLES:
        return _WRITABLES[arrow_type]
    if arrow_type == VECTOR:
        return _list_of(_WRITABLES[pa.float64()])
    if is_list(arrow_type):
        return _list_of(stored_writable(arrow_type.value_type, column))
    if pa.types.is_map(arrow_type):
        item = stored_writable(arrow_type.item_type, column)
        return _map(stored_writable(arrow_type.key_type, column), lambda _: item)
    if pa.types.is_struct(arrow_type):
        fields = {
            field.name: stored_writable(field.type, column) for field in arrow_type
        }
        return map_of(_WRITABLES[pa.string()], fields)
    raise DataError(
        f"stored_writable: column {column!r} must hold texts, bytes, numbers or "
        f"booleans in a SequenceFile, got {arrow_type}. Write Parquet, JSON or pickles."
    )


def map_of(key: StoredWritable, items: Mapping[Any, StoredWritable]) -> StoredWritable:
    """Return the class for dicts whose values have a class each.

    Parameters
    ----------
    key : StoredWritable
        Of the keys.
    items : mapping of key to StoredWritable
        Of the values.
    """
    return _map(key, items.__getitem__)


def encode_bytes(data: bytes) -> bytes:
    """Return a BytesWritable."""
    return len(data).to_bytes(4, "big") + data


def _list_of(element: StoredWritable) -> StoredWritable:
    of_dicts = _map(_WRITABLES[pa.int32()], lambda _: element)
    return StoredWritable("Map", lambda items: of_dicts.encode(dict(enumerate(items))))


def _map(
    key: StoredWritable, item_of: Callable[[Any], StoredWritable]
) -> StoredWritable:
    def encode(items: dict[Any, Any]) -> bytes:
        numbers: dict[str, int] = dict(_KNOWN)
        made = b""
        for name, value in items.items():
            item = _NULL if value is None else item_of(name)
            made += _numbered(key, name, numbers) + _numbered(item, value, numbers)
        named = [kind for kind in numbers if kind not in _KNOWN]
        head = bytes([len(named)]) + b"".join(
            bytes([numbers[kind]]) + _utf(StoredWritable(kind, _nothing).name)
            for kind in named
        )
        return head + len(items).to_bytes(4, "big") + made

    return StoredWritable("Map", encode)


def _numbered(writable: StoredWritable, value: Any, numbers: dict[str, int]) -> bytes:
    """Return a value behind the number of its class, given here if it had none."""
    named = len(numbers) - len(_KNOWN)
    number = numbers.setdefault(writable.kind, _FIRST_NAMED + named)
    return number.to_bytes(1, "big", signed=True) + writable.encode(value)


def _utf(name: str) -> bytes:
    return len(name).to_bytes(2, "big") + name.encode()


def _text(value: str) -> bytes:
    data = value.encode()
    return encode_vint(len(data)) + data


def _nothing(_: Any) -> bytes:
    return b""


def _number(kind: str, form: str) -> StoredWritable:
    return StoredWritable(kind, struct.Struct(form).pack)


_NULL = StoredWritable("Null", _nothing)

# A ByteWritable PySpark hands on as it is, which Python cannot read.
_WRITABLES: Mapping[Any, StoredWritable] = MappingProxyType(
    {
        pa.bool_(): _number("Boolean", ">?"),
        **{kind: _number("Int", ">i") for kind in (pa.int8(), pa.int16(), pa.int32())},
        pa.int64(): _number("Long", ">q"),
        pa.float32(): _number("Float", ">f"),
        pa.float64(): _number("Double", ">d"),
        pa.string(): StoredWritable("Text", _text),
        pa.binary(): StoredWritable("Bytes", encode_bytes),
    }
)
