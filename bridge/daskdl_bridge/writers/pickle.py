"""Pickle files of PySpark: ``sc.pickleFile`` gives pairs of a key and a value.

A value is the only column there is beside the keys, or a dict of several by their
names. A vector is a list of floats: arrays would need NumPy on Spark's side.
"""

import pickle
from collections.abc import Mapping
from typing import Any

from daskdl_bridge.readers.java_arrays import encode_byte_arrays
from daskdl_bridge.readers.writables import BYTES_WRITABLE, NULL_WRITABLE
from daskdl_bridge.writers.pairs import split_pairs
from daskdl_bridge.writers.python_values import python_values
from daskdl_bridge.writers.sequence_file import encode_sequence_file
from daskdl_bridge.writers.writables import encode_bytes

__all__ = ["encode_pickle"]

# PySpark reads one at a time.
_PAIRS_AT_ONCE = 100

# The newest that every Python of a Spark 3 knows.
_PROTOCOL = 4


def encode_pickle(columns: Mapping[str, Any]) -> tuple[bytes, int]:
    """Encode columns as a file for ``sc.pickleFile``.

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
        As `split_pairs`.
    """
    (_, keys), named = split_pairs(columns)
    values = _values(named)
    pairs = list(zip(python_values(keys), values, strict=True))
    batches = (
        pairs[start : start + _PAIRS_AT_ONCE]
        for start in range(0, len(pairs), _PAIRS_AT_ONCE)
    )
    records = ((b"", _record(batch)) for batch in batches)
    return encode_sequence_file(NULL_WRITABLE, BYTES_WRITABLE, records), len(pairs)


def _values(named: dict[str, Any]) -> list[Any]:
    columns = [python_values(column) for column in named.values()]
    if len(columns) == 1:
        return columns[0]
    return [dict(zip(named, row, strict=True)) for row in zip(*columns, strict=True)]


def _record(batch: list[Any]) -> bytes:
    return encode_bytes(encode_byte_arrays([pickle.dumps(batch, _PROTOCOL)]))
