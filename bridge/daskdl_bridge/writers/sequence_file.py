"""SequenceFiles of pairs of Writables, which ``sc.sequenceFile`` reads.

Keys and single values have the Writable that PySpark makes of such a Python object.
Several columns, and vectors, are a MapWritable: the one kind of collection that PySpark
reads, as a dict.
"""

import os
from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from daskdl.errors import DataError
from daskdl_bridge.readers.sequence_file import MAGIC
from daskdl_bridge.readers.vints import encode_vint
from daskdl_bridge.writers.pairs import split_pairs
from daskdl_bridge.writers.python_values import python_values
from daskdl_bridge.writers.writables import StoredWritable, map_of, stored_writable

__all__ = ["encode_sequence_file", "encode_sequence_pairs"]

_VERSION = bytes([6])
_NOT_COMPRESSED, _NO_METADATA = b"\0\0", bytes(4)
_SYNC_BYTES = 16
_MARK_LENGTH = (-1).to_bytes(4, "big", signed=True)

# As Hadoop 3 does; there a file can be cut.
_BYTES_BETWEEN_MARKS = 100 << 10


def encode_sequence_pairs(columns: Mapping[str, Any]) -> tuple[bytes, int]:
    """Encode columns as a SequenceFile of keys and values.

    Parameters
    ----------
    columns : mapping of str to array
        As :func:`daskdl_bridge.writers.pairs.split_pairs` takes them.

    Returns
    -------
    data : bytes
    rows : int
        How many pairs there are.

    Raises
    ------
    DataError
        As `split_pairs`, and if keys are of a type without a Writable that PySpark
        reads, or a key is null.
    """
    (name, keys), named = split_pairs(columns)
    key = stored_writable(keys.type, name)
    if key.is_map:
        raise DataError(
            f"encode_sequence_pairs: keys in {name!r} must be texts, bytes, numbers or "
            f"booleans in a SequenceFile, got {keys.type}. Write Parquet, JSON or "
            "pickles."
        )
    value, values = _values(named)
    pairs = zip(
        _encoded(key, python_values(keys), name),
        # Of several columns a row is a dict, and never null.
        _encoded(value, values, next(iter(named))),
        strict=True,
    )
    return encode_sequence_file(key.name, value.name, pairs), len(keys)


def encode_sequence_file(
    key_class: str, value_class: str, pairs: Iterable[tuple[bytes, bytes]]
) -> bytes:
    """Return a file of records that are not compressed.

    Parameters
    ----------
    key_class, value_class : str
        Names of Java classes.
    pairs : iterable of (bytes, bytes)
        Keys and values as those classes store them.
    """
    sync = os.urandom(_SYNC_BYTES)
    names = (_text(key_class), _text(value_class))
    head = (MAGIC, _VERSION, *names, _NOT_COMPRESSED, _NO_METADATA, sync)
    made = bytearray(b"".join(head))
    marked = len(made)
    for key, value in pairs:
        if len(made) - marked > _BYTES_BETWEEN_MARKS:
            made += _MARK_LENGTH + sync
            marked = len(made)
        made += (len(key) + len(value)).to_bytes(4, "big")
        made += len(key).to_bytes(4, "big") + key + value
    return bytes(made)


def _values(named: dict[str, Any]) -> tuple[StoredWritable, list[Any]]:
    writables = {name: stored_writable(c.type, name) for name, c in named.items()}
    columns = [python_values(column) for column in named.values()]
    if len(columns) == 1:
        return next(iter(writables.values())), columns[0]
    rows = [dict(zip(named, row, strict=True)) for row in zip(*columns, strict=True)]
    return map_of(stored_writable(pa.string(), ""), writables), rows


def _encoded(writable: StoredWritable, values: list[Any], name: str) -> Iterable[bytes]:
    for row, value in enumerate(values):
        if value is None:
            raise DataError(
                f"encode_sequence_pairs: {name!r} must have no null in a SequenceFile, "
                f"row {row} has. Write Parquet, JSON or pickles."
            )
        yield writable.encode(value)


def _text(name: str) -> bytes:
    return encode_vint(len(name)) + name.encode()
