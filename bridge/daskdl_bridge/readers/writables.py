"""Hadoop's Writables: what the bytes of keys and values mean, by the class's name.

Each has one type of column. Bytes that are left over are refused as well as missing
ones: whoever subclassed a Writable to add to it means something else.
"""

import re
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa

from daskdl.checks import did_you_mean, some
from daskdl.errors import OptionError
from daskdl_bridge.readers.vints import vint_at

__all__ = [
    "ARRAY_WRITABLE",
    "BYTES_WRITABLE",
    "NULL_WRITABLE",
    "Writable",
    "array_of_class",
    "writable_of",
]

BYTES_WRITABLE = "org.apache.hadoop.io.BytesWritable"
NULL_WRITABLE = "org.apache.hadoop.io.NullWritable"
ARRAY_WRITABLE = "org.apache.hadoop.io.ArrayWritable"

_PACKAGE = "org.apache.hadoop.io."
# The class itself does not store what its elements are. Java's way around that is a
# subclass for each element class, whose name tells.
_ARRAY = re.compile(r"(?:.*[.$])?(\w+)ArrayWritable")


@dataclass(frozen=True)
class Writable:
    """A class of keys or values.

    Parameters
    ----------
    arrow_type : pyarrow.DataType
        Of a column of them.
    decode : callable
        From the bytes of one to what pyarrow takes for a value of that type. Raises
        ValueError if they are none.
    """

    arrow_type: Any
    decode: Callable[[bytes], Any]


def writable_of(class_name: str) -> Writable | None:
    """Return the class of that name, None if it is not known.

    Parameters
    ----------
    class_name : str
        Name of a Java class, as the header of a file has it. Of whatever package,
        ``DoubleArrayWritable`` and its like are arrays of those Writables.
    """
    if class_name in _WRITABLES:
        return _WRITABLES[class_name]
    array = _ARRAY.fullmatch(class_name)
    if array is None:
        return None
    return _array_of(array[1])


def array_of_class(element_class: str) -> Writable:
    """Return the class of arrays that do not store what their elements are.

    Parameters
    ----------
    element_class : str
        Such as ``DoubleWritable`` or ``Text``, with a package or without.

    Raises
    ------
    OptionError
        If it is no Writable of numbers, booleans or texts.
    """
    element = element_class.removeprefix(_PACKAGE).removesuffix("Writable")
    array = _array_of(element)
    if array is None:
        known = [name if name == "Text" else f"{name}Writable" for name in _ELEMENTS]
        raise OptionError(
            f"SourceOptions: element_class must be one of {some(known, len(known))}, "
            f"got {element_class!r}.{did_you_mean(element_class, known)}"
        )
    return array


def _number(arrow_type: Any, form: str) -> Writable:
    numbers = struct.Struct(form)

    def decode(data: bytes) -> Any:
        if len(data) != numbers.size:
            raise ValueError(f"{len(data)} bytes in place of {numbers.size}")
        return numbers.unpack(data)[0]

    return Writable(arrow_type, decode)


def _text(data: bytes) -> str:
    text, end = _text_at(data, 0)
    _check_end(data, end)
    return text


def _text_at(data: bytes, start: int) -> tuple[str, int]:
    length, start = vint_at(data, start)
    if not 0 <= length <= len(data) - start:
        raise ValueError(f"a text of {length} bytes in {len(data) - start}")
    return data[start : start + length].decode(), start + length


def _bytes(data: bytes) -> bytes:
    length = _length(data)
    if length != len(data) - _LENGTH.size:
        raise ValueError(f"a length of {length} before {len(data) - _LENGTH.size}")
    return data[_LENGTH.size :]


def _vint(data: bytes) -> int:
    number, end = vint_at(data, 0)
    _check_end(data, end)
    return number


def _null(data: bytes) -> None:
    _check_end(data, 0)


def _check_end(data: bytes, end: int) -> None:
    if end != len(data):
        raise ValueError(f"{len(data) - end} bytes behind the end")


def _array_of(element: str) -> Writable | None:
    if element == "Text":
        return Writable(pa.list_(pa.string()), _texts)
    if element not in _FORMS:
        return None
    arrow_type, form = _FORMS[element]
    # As boolean NumPy would take any byte.
    stored = np.dtype("u1" if form == ">?" else form)
    made = np.dtype(arrow_type.to_pandas_dtype())

    def decode(data: bytes) -> Any:
        n_bytes = len(data) - _LENGTH.size
        if _length(data) * stored.itemsize != n_bytes:
            raise ValueError(
                f"{_length(data)} elements of {stored.itemsize} bytes in {n_bytes}"
            )
        return np.frombuffer(data, stored, offset=_LENGTH.size).astype(made)

    return Writable(pa.list_(arrow_type), decode)


def _texts(data: bytes) -> list[str]:
    n_texts, at, texts = _length(data), _LENGTH.size, []
    # Each takes a byte at least, so that a false number ends with the bytes.
    for _ in range(n_texts):
        text, at = _text_at(data, at)
        texts.append(text)
    _check_end(data, at)
    return texts


def _length(data: bytes) -> int:
    if len(data) < _LENGTH.size:
        raise ValueError(f"{len(data)} bytes in place of a length")
    (length,) = _LENGTH.unpack_from(data)
    if length < 0:
        raise ValueError(f"a length of {length}")
    return int(length)


_LENGTH = struct.Struct(">i")

_FORMS: Mapping[str, tuple[Any, str]] = MappingProxyType(
    {
        "Boolean": (pa.bool_(), ">?"),
        "Byte": (pa.int8(), ">b"),
        "Double": (pa.float64(), ">d"),
        "Float": (pa.float32(), ">f"),
        "Int": (pa.int32(), ">i"),
        "Long": (pa.int64(), ">q"),
        "Short": (pa.int16(), ">h"),
    }
)

_ELEMENTS = (*_FORMS, "Text")

_WRITABLES: Mapping[str, Writable] = MappingProxyType(
    {
        **{f"{_PACKAGE}{name}Writable": _number(*how) for name, how in _FORMS.items()},
        BYTES_WRITABLE: Writable(pa.binary(), _bytes),
        NULL_WRITABLE: Writable(pa.null(), _null),
        f"{_PACKAGE}Text": Writable(pa.string(), _text),
        f"{_PACKAGE}VIntWritable": Writable(pa.int64(), _vint),
        f"{_PACKAGE}VLongWritable": Writable(pa.int64(), _vint),
    }
)
