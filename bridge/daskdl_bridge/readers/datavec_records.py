"""DataVec's records: a row of values, each with the number of its type in front.

They are the values of the SequenceFiles and MapFiles that ``SparkStorageUtils`` writes.
The numbers are the order of DataVec's ``WritableType``.
"""

import io
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa

from daskdl.dl4j.arrays.nd4j import read_array
from daskdl.dl4j.java.counted_stream import CountedStream
from daskdl_bridge.readers.types_of_rows import types_of_rows
from daskdl_bridge.readers.vints import take_vint

__all__ = ["RECORD_WRITABLE", "decode_record", "record_types"]

RECORD_WRITABLE = "org.datavec.hadoop.records.reader.mapfile.record.RecordWritable"

_MOST_VALUES = 1 << 20
# What an array may take that is stored compressed.
_MOST_BYTES = 128 << 20


def decode_record(data: bytes, name: str) -> list[Any]:
    """Return the values of a record.

    Parameters
    ----------
    data : bytes
        Of one record.
    name : str
        Of the record, for messages.

    Returns
    -------
    list of bool, int, float, str, ndarray of shape (n,), or None
        Arrays are flat, in C order.

    Raises
    ------
    CorruptFileError
        If the record is damaged, or holds values of a type that is none of those; with
        name and offset.
    """
    counted = CountedStream(io.BytesIO(data), name)
    n_values = counted.take_count(">i", "values of a record", _MOST_VALUES)
    values = [_value(counted) for _ in range(n_values)]
    if not counted.is_at_end():
        raise counted.corrupt("a record must end behind its last value", "more bytes")
    return values


def record_types(records: Iterable[list[Any]]) -> dict[str, Any]:
    """Return names and Arrow types of the columns that the first records tell.

    Names are those that Spark gives columns without any: ``_c0``, ``_c1`` and so on.
    Whole numbers are of 64 bits, whatever they were stored as, and so are others.
    """
    return types_of_rows(
        {f"_c{index}": _arrow_type(value) for index, value in enumerate(values)}
        for values in records
    )


def _arrow_type(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return pa.list_(pa.from_numpy_dtype(value.dtype))
    return pa.scalar(value).type


def _value(counted: CountedStream) -> Any:
    start = counted.offset
    kind = counted.take_number(">h")
    if kind not in _KINDS:
        must = f"the type of a value must be one of {list(_KINDS)}"
        raise counted.corrupt(must, str(kind), start)
    return _KINDS[kind](counted)


def _number(form: str) -> Callable[[CountedStream], Any]:
    return lambda counted: counted.take_number(form)


def _null(_: CountedStream) -> None:
    return None


def _text(counted: CountedStream) -> str:
    start = counted.offset
    n_bytes = take_vint(counted)
    if n_bytes < 0:
        raise counted.corrupt("a length must be 0 or more", str(n_bytes), start)
    raw = counted.take(n_bytes)
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise counted.corrupt("a text must be UTF-8", repr(raw[:20]), start) from error


def _array(counted: CountedStream) -> Any:
    if not counted.take_count(">b", "a flag", 1):
        return None
    return read_array(counted, most_bytes=_MOST_BYTES).ravel(order="C")


_KINDS: Mapping[int, Callable[[CountedStream], Any]] = MappingProxyType(
    {
        0: _number(">?"),
        1: _number(">b"),
        2: _number(">d"),
        3: _number(">f"),
        4: _number(">i"),
        5: _number(">q"),
        6: _null,
        7: _text,
        8: _array,
    }
)
"""Number of a type to its reader; images, Arrow batches and bytes have others."""
