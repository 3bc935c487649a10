"""What pyarrow does not tell of an ORC file: the calendar of its dates.

A file ends with its footer, a postscript that says how the footer is compressed, and a
byte for the length of that. Both are messages of protobuf.
"""

import zlib
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from io import BytesIO
from types import MappingProxyType
from typing import Any

from daskdl.checks import some
from daskdl.errors import CorruptFileError, DataError
from daskdl_bridge.readers.hadoop_codecs import (
    joined,
    plain_lz4,
    plain_snappy,
    plain_streams,
    zstandard,
)

__all__ = ["has_hybrid_dates"]

# Fields of the postscript, and their meanings where they are missing.
_FOOTER_LENGTH, _COMPRESSION, _BLOCK_BYTES = 1, 2, 3
_DEFAULT_BLOCK_BYTES = 256 << 10
# Fields of the footer, and two of their values.
_WRITER, _CALENDAR = 9, 11
_OF_CPP, _PROLEPTIC = 1, 2
# Of a footer, stored and plain: pyarrow has read it before, but a length may lie.
_MOST_BYTES = 128 << 20
_HEAD_BYTES = 3
_RAW_ZLIB = -15
_VARINT, _EIGHT_BYTES, _LENGTH, _FOUR_BYTES = 0, 1, 2, 5


def has_hybrid_dates(stream: Any, url: str) -> bool:
    """Say whether days of before 15 October 1582 are those of the Julian calendar.

    Parameters
    ----------
    stream : binary stream
        An open ORC file that can seek; left anywhere.
    url : str
        For messages.

    Returns
    -------
    bool
        True as well if the file says nothing, as those of old writers in Java, but for
        those that ORC's library for C++ wrote, which knows no other calendar than ours.

    Raises
    ------
    CorruptFileError
        If the footer is damaged.
    DataError
        If it is compressed by LZO.
    """
    try:
        footer = dict(_fields(_footer(stream, url)))
    except DataError:
        raise
    except (IndexError, ValueError) as error:
        raise CorruptFileError(
            f"{url}: must be a whole ORC file, its footer is damaged: {error}."
        ) from error
    if _CALENDAR in footer:
        return footer[_CALENDAR] != _PROLEPTIC
    return footer.get(_WRITER) != _OF_CPP


def _footer(stream: Any, url: str) -> bytes:
    size = stream.seek(0, 2)
    (length,) = _taken(stream, size - 1, 1)
    postscript = dict(_fields(_taken(stream, size - 1 - length, length)))
    n_bytes = postscript.get(_FOOTER_LENGTH, 0)
    if n_bytes > _MOST_BYTES:
        raise ValueError(f"a length of {n_bytes} bytes")
    stored = _taken(stream, size - 1 - length - n_bytes, n_bytes)
    compression = postscript.get(_COMPRESSION, 0)
    if not compression:
        return stored
    if compression not in _CODECS:
        raise DataError(
            f"{url}: ORC files with dates must be compressed by one of "
            f"{some(_NAMES, len(_NAMES))}, got compression {compression}. Have it "
            "written with one of those."
        )
    most = postscript.get(_BLOCK_BYTES, _DEFAULT_BLOCK_BYTES)
    pieces = _plain(stored, _CODECS[compression], min(most, _MOST_BYTES))
    return joined(pieces, _MOST_BYTES)


def _taken(stream: Any, start: int, n_bytes: int) -> bytes:
    stream.seek(max(start, 0))
    data = bytes(stream.read(n_bytes))
    if start < 0 or len(data) < n_bytes:
        raise ValueError("its length is more than the file has")
    return data


def _plain(
    stored: bytes, decompress: Callable[[bytes, int], bytes], most_bytes: int
) -> Iterator[bytes]:
    """Yield plain chunks, each with its length and whether it is plain in front."""
    at = 0
    while at < len(stored):
        head = int.from_bytes(stored[at : at + _HEAD_BYTES], "little")
        start, n_bytes = at + _HEAD_BYTES, head >> 1
        chunk = stored[start : start + n_bytes]
        yield chunk if head & 1 else decompress(chunk, most_bytes)
        at = start + n_bytes


def _fields(message: bytes) -> Iterator[tuple[int, int]]:
    """Yield the numbers of the fields of a message that are whole numbers, and those.

    Notes
    -----
    Of a number that comes again the last counts, as in ``dict``.
    """
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        number, kind = tag >> 3, tag & 7
        if kind == _VARINT:
            value, at = _varint(message, at)
            yield number, value
        elif kind == _LENGTH:
            n_bytes, at = _varint(message, at)
            at += n_bytes
        elif kind in (_EIGHT_BYTES, _FOUR_BYTES):
            at += 8 if kind == _EIGHT_BYTES else 4
        else:
            raise ValueError(f"a field of kind {kind}")


def _varint(message: bytes, at: int) -> tuple[int, int]:
    """Return a whole number, seven bits a byte, the lowest first, and what follows."""
    value, shift = 0, 0
    while True:
        byte = message[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def _zlib(chunk: bytes, most_bytes: int) -> bytes:
    start = partial(zlib.decompressobj, _RAW_ZLIB)
    return joined(plain_streams(start, BytesIO(chunk), is_single=True), most_bytes)


def _zstandard(chunk: bytes, most_bytes: int) -> bytes:
    return joined(zstandard(BytesIO(chunk)), most_bytes)


_CODECS: Mapping[int, Callable[[bytes, int], bytes]] = MappingProxyType(
    {1: _zlib, 2: plain_snappy, 4: plain_lz4, 5: _zstandard}
)
"""Number of a compression to its function."""
_NAMES = ("zlib", "snappy", "lz4", "zstd")
