"""What Hadoop's compression codecs made of bytes, decompressed within a limit.

Snappy and LZ4 come in frames of Hadoop's own: the plain size of a frame, then chunks,
each with its compressed size in front, until they make that plain size. All sizes are
of four bytes, big-endian.
"""

import bz2
import io
import lzma
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

import pyarrow as pa

__all__ = [
    "CODECS",
    "PlainPieces",
    "PlainStream",
    "decompressed",
    "joined",
    "plain_lz4",
    "plain_snappy",
    "plain_streams",
    "zstandard",
]

PlainPieces: TypeAlias = Callable[[Any], Iterator[bytes]]
"""From a compressed stream to plain pieces of it."""

_PIECE_BYTES = 1 << 20
# Of a frame of Snappy or LZ4. Hadoop makes them of 256 KiB, or of a longer line; a
# damaged size claims anything.
_MOST_FRAME_BYTES = 128 << 20
# Of zlib: a header of gzip is looked for, and nothing else.
_GZIP_WINDOW = 31
# An LZ4 length of 15 goes on in the bytes that follow, as long as they are 255; what is
# repeated has four bytes more than its length says, and its distance takes two.
_LZ4_LONG, _LZ4_FULL, _LZ4_LEAST_COPY, _LZ4_DISTANCE_BYTES = 15, 255, 4, 2
_DAMAGE = (
    EOFError,
    IndexError,
    OSError,
    ValueError,
    lzma.LZMAError,
    struct.error,
    zlib.error,
)


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
    return joined(CODECS[codec](io.BytesIO(data)), most_bytes)


def joined(pieces: Iterator[bytes], most_bytes: int) -> bytes:
    """Return plain pieces as one; raise as `decompressed` does."""
    # Pieces side by side would be held twice when they are joined.
    held = io.BytesIO()
    try:
        for piece in pieces:
            held.write(piece)
            if held.tell() > most_bytes:
                raise ValueError(
                    f"more than {most_bytes} bytes when it is decompressed"
                )
    except _DAMAGE as error:
        raise ValueError(" ".join(str(error).split())) from error
    return held.getvalue()


def plain_snappy(data: bytes, most_bytes: int) -> bytes:
    """Return the plain bytes of a chunk of Snappy; raise as `decompressed` does."""
    return joined(_chunk("snappy", _snappy_size, data, most_bytes), most_bytes)


def plain_lz4(data: bytes, most_bytes: int) -> bytes:
    """Return the plain bytes of a chunk of LZ4; raise as `decompressed` does."""
    return joined(_chunk("lz4_raw", _lz4_size, data, most_bytes), most_bytes)


def _chunk(
    codec: str, plain_size: Callable[[bytes], int], data: bytes, most_bytes: int
) -> Iterator[bytes]:
    size = plain_size(data)
    if size > most_bytes:
        raise ValueError(f"more than {most_bytes} bytes when it is decompressed")
    yield pa.Codec(codec).decompress(data, size, asbytes=True)


class PlainStream(io.RawIOBase):
    """The plain bytes of a compressed stream, read forward.

    Parameters
    ----------
    codec : str
        Class of the codec, a key of `CODECS`.
    stream : binary stream
        At its start.
    """

    def __init__(self, codec: str, stream: Any) -> None:
        self._pieces = CODECS[codec](stream)
        self._held = b""

    def readable(self) -> bool:
        """Return True."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Read at most some bytes, at least one but for the end; all if negative.

        Raises
        ------
        OSError
            If the bytes are damaged; without an error number.
        """
        if size < 0:
            return b"".join(iter(lambda: self.read(_MOST_FRAME_BYTES), b""))
        try:
            while not self._held:
                self._held = next(self._pieces)
        except StopIteration:
            return b""
        except OSError:
            raise
        except _DAMAGE as error:
            raise OSError(str(error)) from error
        data, self._held = self._held[:size], self._held[size:]
        return data


def _zlib(stream: Any) -> Iterator[bytes]:
    return plain_streams(zlib.decompressobj, stream)


def _gzip(stream: Any) -> Iterator[bytes]:
    return plain_streams(lambda: zlib.decompressobj(_GZIP_WINDOW), stream)


def _bzip2(stream: Any) -> Iterator[bytes]:
    return plain_streams(bz2.BZ2Decompressor, stream)


def plain_streams(
    start: Callable[[], Any], stream: Any, *, is_single: bool = False
) -> Iterator[bytes]:
    """Decompress one stream of zlib, bzip2 or xz, or several behind one another.

    Parameters
    ----------
    start : callable
        Makes a decompressor.
    stream : binary stream
    is_single : bool
        Whether nothing counts that is behind the first.
    """
    held = stream.read(_PIECE_BYTES)
    while held:
        decoder = start()
        while not decoder.eof:
            piece = decoder.decompress(held, _PIECE_BYTES)
            yield piece
            held = _next_input(decoder, stream)
            if not (held or piece or decoder.eof):
                raise EOFError("compressed bytes end too early")
        held = b"" if is_single else decoder.unused_data or stream.read(_PIECE_BYTES)


def _next_input(decoder: Any, stream: Any) -> bytes:
    """Return what to decompress next; nothing if the decoder holds some already."""
    if decoder.eof or not getattr(decoder, "needs_input", True):
        return b""
    # zlib gives back what would have made too much, bzip2 and xz keep it.
    return getattr(decoder, "unconsumed_tail", b"") or stream.read(_PIECE_BYTES)


def zstandard(stream: Any) -> Iterator[bytes]:
    """Decompress frames of Zstandard."""
    with pa.CompressedInputStream(pa.PythonFile(stream, "r"), "zstd") as plain:
        while piece := plain.read(_PIECE_BYTES):
            yield piece


def _snappy(stream: Any) -> Iterator[bytes]:
    return _framed(stream, "snappy", _snappy_size)


def _lz4(stream: Any) -> Iterator[bytes]:
    return _framed(stream, "lz4_raw", _lz4_size)


def _framed(
    stream: Any, codec: str, plain_size: Callable[[bytes], int]
) -> Iterator[bytes]:
    """Decompress chunks, of which pyarrow has to be told the exact plain size."""
    decoder = pa.Codec(codec)
    for chunk, size in _chunks(stream, plain_size):
        if size:
            yield decoder.decompress(chunk, size, asbytes=True)


def _chunks(
    stream: Any, plain_size: Callable[[bytes], int]
) -> Iterator[tuple[bytes, int]]:
    """Yield the chunks of all frames, each with its plain size."""
    while head := _taken(stream, 4):
        (left,) = struct.unpack(">I", head)
        if left > _MOST_FRAME_BYTES:
            raise ValueError(f"a frame of more than {_MOST_FRAME_BYTES} bytes: {left}")
        while left:
            (n_bytes,) = struct.unpack(">I", _taken(stream, 4))
            chunk = _taken(stream, min(n_bytes, _MOST_FRAME_BYTES))
            if not n_bytes or len(chunk) < n_bytes:
                raise EOFError("a chunk of compressed bytes ends too early")
            size = plain_size(chunk)
            if size > left:
                raise ValueError(f"a chunk of {size} bytes where {left} are left")
            yield chunk, size
            left -= size


def _taken(stream: Any, n_bytes: int) -> bytes:
    """Read some bytes, fewer only at the end."""
    pieces = []
    while n_bytes and (data := stream.read(min(n_bytes, _PIECE_BYTES))):
        pieces.append(data)
        n_bytes -= len(data)
    return b"".join(pieces)


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


CODECS: Mapping[str, PlainPieces] = MappingProxyType(
    {
        "org.apache.hadoop.io.compress.DefaultCodec": _zlib,
        "org.apache.hadoop.io.compress.DeflateCodec": _zlib,
        "org.apache.hadoop.io.compress.GzipCodec": _gzip,
        "org.apache.hadoop.io.compress.BZip2Codec": _bzip2,
        "org.apache.hadoop.io.compress.SnappyCodec": _snappy,
        "org.apache.hadoop.io.compress.Lz4Codec": _lz4,
        "org.apache.hadoop.io.compress.ZStandardCodec": zstandard,
    }
)
"""Class of a codec to its function from a compressed stream to plain pieces of it."""
