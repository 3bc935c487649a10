"""What Hadoop's compression codecs made of bytes, decompressed within a limit.

Snappy and LZ4 come in frames of Hadoop's own: the plain size of a frame, then chunks,
each with its compressed size in front, until they make that plain size. All sizes are
of four bytes, big-endian.
"""

import bz2
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

import pyarrow as pa

__all__ = ["CODECS", "decompressed"]

_PIECE_BYTES = 1 << 20
# Of zlib: a header of gzip is looked for, and nothing else.
_GZIP_WINDOW = 31
# An LZ4 length of 15 goes on in the bytes that follow, as long as they are 255; what is
# repeated has four bytes more than its length says, and its distance takes two.
_LZ4_LONG, _LZ4_FULL, _LZ4_LEAST_COPY, _LZ4_DISTANCE_BYTES = 15, 255, 4, 2


def decompressed(codec: str, data: bytes, most_bytes: int) -> bytes:
    """Return the plain bytes.

    Parameters
    ----------
    codec : str
        Class of the codec, a key of `CODECS`.
    data : bytes
        All that one compressor wrote.
    most_bytes : int
        What the plain bytes may be at most. Few more are made of a file that lies.

    Raises
    ------
    ValueError
        If the bytes are damaged, or make more than `most_bytes`.
    """
    try:
        return CODECS[codec](data, most_bytes)
    except (EOFError, IndexError, OSError, zlib.error, struct.error) as error:
        raise ValueError(" ".join(str(error).split())) from error


def _zlib(data: bytes, most_bytes: int) -> bytes:
    return _streams(zlib.decompressobj, data, most_bytes)


def _gzip(data: bytes, most_bytes: int) -> bytes:
    return _streams(lambda: zlib.decompressobj(_GZIP_WINDOW), data, most_bytes)


def _bzip2(data: bytes, most_bytes: int) -> bytes:
    return _streams(bz2.BZ2Decompressor, data, most_bytes)


def _streams(start: Callable[[], Any], data: bytes, most_bytes: int) -> bytes:
    """Decompress one stream, or several behind one another."""
    pieces, room = [], most_bytes
    while data:
        stream = start()
        pieces.append(stream.decompress(data, room + 1))
        room -= len(pieces[-1])
        _check_room(room, most_bytes)
        if not stream.eof:
            raise EOFError("compressed bytes end too early")
        data = stream.unused_data
    return b"".join(pieces)


def _zstandard(data: bytes, most_bytes: int) -> bytes:
    pieces, room = [], most_bytes
    with pa.CompressedInputStream(pa.BufferReader(data), "zstd") as stream:
        while piece := stream.read(_PIECE_BYTES):
            pieces.append(piece)
            room -= len(piece)
            _check_room(room, most_bytes)
    return b"".join(pieces)


def _snappy(data: bytes, most_bytes: int) -> bytes:
    return _framed(data, most_bytes, "snappy", _snappy_size)


def _lz4(data: bytes, most_bytes: int) -> bytes:
    return _framed(data, most_bytes, "lz4_raw", _lz4_size)


def _framed(
    data: bytes, most_bytes: int, codec: str, plain_size: Callable[[bytes], int]
) -> bytes:
    """Decompress chunks, of which pyarrow has to be told the exact plain size."""
    decoder = pa.Codec(codec)
    return b"".join(
        decoder.decompress(chunk, size, asbytes=True)
        for chunk, size in _chunks(data, most_bytes, plain_size)
        if size
    )


def _chunks(
    data: bytes, most_bytes: int, plain_size: Callable[[bytes], int]
) -> Iterator[tuple[bytes, int]]:
    """Yield the chunks of all frames, each with its plain size."""
    at, room = 0, most_bytes
    while at < len(data):
        (left,) = struct.unpack_from(">I", data, at)
        at += 4
        room -= left
        _check_room(room, most_bytes)
        while left:
            (n_bytes,) = struct.unpack_from(">I", data, at)
            chunk = data[at + 4 : at + 4 + n_bytes]
            at += 4 + n_bytes
            if not n_bytes or at > len(data):
                raise EOFError("a chunk of compressed bytes ends too early")
            size = plain_size(chunk)
            if size > left:
                raise ValueError(f"a chunk of {size} bytes where {left} are left")
            yield chunk, size
            left -= size


def _snappy_size(chunk: bytes) -> int:
    """Return the plain size, which stands in front, seven bits a byte."""
    size = 0
    for index, byte in enumerate(chunk[:5]):
        size |= (byte & 127) << 7 * index
        if byte < 128:
            return size
    raise ValueError("a chunk of snappy without its size")


def _lz4_size(chunk: bytes) -> int:
    """Return the plain size, which only the lengths of all sequences tell."""
    at, size = 0, 0
    while True:
        token = chunk[at]
        length, at = _lz4_length(chunk, at + 1, token >> 4)
        size, at = size + length, at + length
        if at >= len(chunk):
            # The last sequence repeats nothing.
            return size
        length, at = _lz4_length(chunk, at + _LZ4_DISTANCE_BYTES, token & 15)
        size += length + _LZ4_LEAST_COPY


def _lz4_length(chunk: bytes, at: int, length: int) -> tuple[int, int]:
    if length < _LZ4_LONG:
        return length, at
    while chunk[at] == _LZ4_FULL:
        length += _LZ4_FULL
        at += 1
    return length + chunk[at], at + 1


def _check_room(room: int, most_bytes: int) -> None:
    if room < 0:
        raise ValueError(f"more than {most_bytes} bytes when it is decompressed")


CODECS: Mapping[str, Callable[[bytes, int], bytes]] = MappingProxyType(
    {
        "org.apache.hadoop.io.compress.DefaultCodec": _zlib,
        "org.apache.hadoop.io.compress.DeflateCodec": _zlib,
        "org.apache.hadoop.io.compress.GzipCodec": _gzip,
        "org.apache.hadoop.io.compress.BZip2Codec": _bzip2,
        "org.apache.hadoop.io.compress.SnappyCodec": _snappy,
        "org.apache.hadoop.io.compress.Lz4Codec": _lz4,
        "org.apache.hadoop.io.compress.ZStandardCodec": _zstandard,
    }
)
"""Class of a codec to its function from compressed bytes and a limit to plain ones."""
