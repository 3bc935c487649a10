"""Java's serialised arrays of arrays of bytes, in which Spark keeps pickles."""

import io
from collections.abc import Sequence

from daskdl.dl4j.java.counted_stream import CountedStream
from daskdl.errors import DataError

__all__ = ["JAVA_OBJECTS", "byte_arrays", "encode_byte_arrays"]

JAVA_OBJECTS = b"\xac\xed\x00\x05"
"""What a stream of Java's serialised objects begins with."""

_CLASS, _REFERENCE = b"ur", b"uq"
_OUTER = b"\x00\x03[[B" + bytes.fromhex("4bfd19156767db370200007870")
_INNER = b"\x00\x02[B" + bytes.fromhex("acf317f8060854e00200007870")
# The second class that the stream described.
_SECOND = bytes.fromhex("007e0002")

_MOST_BYTES = 128 << 20


def byte_arrays(data: bytes, name: str) -> list[bytes]:
    """Return the arrays of bytes that a value of an object file holds.

    Parameters
    ----------
    data : bytes
        A serialised ``byte[][]``.
    name : str
        Of the value, for messages.

    Raises
    ------
    DataError
        If it is an object of another class: a program in Java or Scala wrote it.
    CorruptFileError
        If it is cut short or damaged; with the offset within the value.
    """
    if not data.startswith(JAVA_OBJECTS + _CLASS + _OUTER):
        raise DataError(
            f"{name}: an object file must hold pickles of Python, got objects of a "
            "program in Java or Scala (saveAsObjectFile), and to read those may run "
            "what code they name. Have Spark write Parquet."
        )
    counted = CountedStream(io.BytesIO(data), name)
    counted.take(len(JAVA_OBJECTS + _CLASS + _OUTER))
    n_arrays = counted.take_count(">i", "arrays of bytes", len(data))
    arrays = [_byte_array(counted, is_first=not index) for index in range(n_arrays)]
    if not counted.is_at_end():
        raise counted.corrupt("the last array must end the value", "more bytes")
    return arrays


def encode_byte_arrays(arrays: Sequence[bytes]) -> bytes:
    """Return the value of an object file that holds arrays of bytes."""
    made = [JAVA_OBJECTS, _CLASS, _OUTER, len(arrays).to_bytes(4, "big")]
    for index, data in enumerate(arrays):
        described = _REFERENCE + _SECOND if index else _CLASS + _INNER
        made += [described, len(data).to_bytes(4, "big"), data]
    return b"".join(made)


def _byte_array(counted: CountedStream, *, is_first: bool) -> bytes:
    start = counted.offset
    expected = _CLASS + _INNER if is_first else _REFERENCE + _SECOND
    found = counted.take(len(expected))
    if found != expected:
        raise counted.corrupt("an array of bytes must follow", found.hex(), start)
    return counted.take(counted.take_count(">i", "bytes of an array", _MOST_BYTES))
