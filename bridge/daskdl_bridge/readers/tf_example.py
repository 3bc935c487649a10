"""TensorFlow's ``tf.train.Example``, decoded from protocol buffers without TensorFlow.

An example is a map from names to features, each a list of bytes, floats or whole
numbers. Only the fields that make these up are known; others are skipped.
"""

from collections.abc import Collection, Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Feature", "decode_example"]

Feature: TypeAlias = list[bytes] | NDArray[Any]
"""Values of a feature: bytes, or an array of shape (values,), float32 or int64."""

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_FIXED_SIZES = {_FIXED64: 8, _FIXED32: 4}
_MOST_VARINT_BYTES = 10
# Each is an object of Python, and takes two bytes of a record if it is empty.
_MOST_BYTES_VALUES = 1 << 20

_BYTES_LIST, _FLOAT_LIST, _INT64_LIST = 1, 2, 3


def decode_example(
    record: bytes, names: Collection[str] | None = None
) -> dict[str, Feature]:
    """Return the features of an example by their names.

    Parameters
    ----------
    record : bytes
        One record of a file.
    names : collection of str, optional
        Those to return; all if not given.

    Returns
    -------
    dict of str to list of bytes or ndarray
        Features without a value are left out.

    Raises
    ------
    ValueError
        If it is no example, or a ``tf.train.SequenceExample``.
    """
    found: dict[str, Feature] = {}
    for number, value in _fields(memoryview(record)):
        if number == 2:
            raise ValueError("it is a tf.train.SequenceExample, or something else")
        if number == 1:
            for entry_number, entry in _fields(_message(value)):
                if entry_number == 1:
                    _add_entry(_message(entry), names, found)
    return found


def _add_entry(
    entry: memoryview, names: Collection[str] | None, found: dict[str, Feature]
) -> None:
    parts = dict(_fields(entry))
    name = bytes(_message(parts.get(1, memoryview(b"")))).decode()
    if names is not None and name not in names:
        return
    for kind, stored in _fields(_message(parts.get(2, memoryview(b"")))):
        if kind in (_BYTES_LIST, _FLOAT_LIST, _INT64_LIST):
            values = _values(kind, _message(stored))
            if len(values):
                found[name] = values


def _values(kind: int, stored: memoryview) -> Feature:
    values = [value for number, value in _fields(stored) if number == 1]
    if kind == _BYTES_LIST:
        return [bytes(_message(value)) for value in values]
    pieces = [_numbers(kind, value) for value in values]
    return np.concatenate(pieces) if pieces else np.empty(0, np.float32)


def _numbers(kind: int, value: int | memoryview) -> NDArray[Any]:
    """Return a packed list of numbers, or the only one of a list that is not packed."""
    if kind == _FLOAT_LIST:
        return np.frombuffer(_message(value), "<f4")
    if not isinstance(value, int):
        # Most lists, of labels for instance, have one.
        number, end = _varint(value, 0) if len(value) else (0, -1)
        if end != len(value):
            return _varints(np.frombuffer(value, np.uint8))
        value = number
    return np.array([value], np.uint64).view(np.int64)


def _varints(stored: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return packed whole numbers, each of seven bits a byte, the lowest first."""
    ends = np.flatnonzero(stored < 128)
    if len(stored) and (not len(ends) or ends[-1] != len(stored) - 1):
        raise ValueError("a whole number ends too early")
    lengths = np.diff(ends, prepend=-1)
    if (lengths > _MOST_VARINT_BYTES).any():
        raise ValueError(f"a whole number has more than {_MOST_VARINT_BYTES} bytes")
    if len(ends) == len(stored):
        return stored.astype(np.int64)
    starts = ends + 1 - lengths
    shifts = 7 * (np.arange(len(stored)) - np.repeat(starts, lengths))
    bits = (stored & 127).astype(np.uint64) << shifts.astype(np.uint64)
    return np.bitwise_or.reduceat(bits, starts).view(np.int64)


def _message(value: int | memoryview) -> memoryview:
    if not isinstance(value, int):
        return value
    raise ValueError("a number where bytes must be")


def _fields(message: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Yield number and value of each field: a number, or the bytes of what else."""
    at, n_values = 0, 0
    while at < len(message):
        tag, at = _varint(message, at)
        wire = tag & 7
        if wire == _VARINT:
            number, at = _varint(message, at)
            yield tag >> 3, number
        elif wire == _BYTES or wire in _FIXED_SIZES:
            size = _FIXED_SIZES.get(wire, 0)
            if wire == _BYTES:
                size, at = _varint(message, at)
            if size > len(message) - at:
                raise ValueError(f"a field of {size} bytes ends too early")
            yield tag >> 3, message[at : at + size]
            at += size
        else:
            raise ValueError(f"a field is of the unknown type {wire}")
        n_values += 1
        if n_values > _MOST_BYTES_VALUES:
            raise ValueError(f"more than {_MOST_BYTES_VALUES} fields behind each other")


def _varint(message: memoryview, at: int) -> tuple[int, int]:
    value = 0
    for index, byte in enumerate(message[at : at + _MOST_VARINT_BYTES]):
        value |= (byte & 127) << 7 * index
        if byte < 128:
            return value & 0xFFFF_FFFF_FFFF_FFFF, at + index + 1
    raise ValueError("a whole number ends too early, or is too long")
