"""The buffers that ND4J arrays are made of: a head with a count and a type, elements.

See :mod:`daskdl.dl4j.arrays.nd4j` for the arrays.
"""

import io
import struct
import zlib
from dataclasses import dataclass
from typing import Any, BinaryIO, TypeAlias

import numpy as np
from numpy.typing import NDArray

from daskdl.dl4j.java.counted_stream import CountedStream

__all__ = [
    "DTYPES",
    "Elements",
    "buffer_head",
    "native_dtype",
    "read_elements",
    "read_head",
    "write_elements",
]

_Array: TypeAlias = NDArray[Any]

# Number of bytes of the element count by allocation mode.
_COUNT_BYTES = {
    "DIRECT": 4,
    "HEAP": 4,
    "JAVACPP": 4,
    "LONG_SHAPE": 8,
    "MIXED_DATA_TYPES": 8,
}
_MODE = "MIXED_DATA_TYPES"

DTYPES: dict[str, np.dtype[Any]] = {
    "DOUBLE": np.dtype(">f8"),
    "FLOAT": np.dtype(">f4"),
    "HALF": np.dtype(">f2"),
    "BFLOAT16": np.dtype(">u2"),
    "LONG": np.dtype(">i8"),
    "INT": np.dtype(">i4"),
    "SHORT": np.dtype(">i2"),
    "BYTE": np.dtype("i1"),
    "UINT64": np.dtype(">u8"),
    "UINT32": np.dtype(">u4"),
    "UINT16": np.dtype(">u2"),
    "UBYTE": np.dtype("u1"),
    "BOOL": np.dtype("?"),
}
"""How the elements of each type are stored; BFLOAT16 as its bits."""

# In the order of ND4J's enum, for the ordinal in the head of a compressed buffer.
_ORDINALS = (
    *("DOUBLE", "FLOAT", "HALF", "LONG", "INT", "SHORT", "UBYTE", "BYTE", "BOOL"),
    *("UTF8", "COMPRESSED", "BFLOAT16", "UINT16", "UINT32", "UINT64", "UNKNOWN"),
)
# Head of the buffer inside a gzip, above its elements: longest mode, count, type name.
_MOST_HEAD_BYTES = 64
# Deflate cannot shrink more than this.
_MOST_INFLATION = 1032
# Elements that are encoded at once when they are written.
_PIECE = 1 << 21
# What Java's GZIPOutputStream begins with: no name, no time, an unknown system.
_JAVA_GZIP_HEAD = bytes((0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 0xFF))


@dataclass(frozen=True)
class Elements:
    """The elements of a buffer.

    Parameters
    ----------
    values : ndarray of shape (count,)
        In native byte order; BFLOAT16 as float32.
    type_name : str
        ND4J's name of their type.
    is_gzipped : bool
        They are, or shall be, in a compressed buffer.
    """

    values: _Array
    type_name: str
    is_gzipped: bool = False


def native_dtype(type_name: str) -> np.dtype[Any]:
    """Return the dtype that elements of the type have once they are read."""
    if type_name == "BFLOAT16":
        return np.dtype(np.float32)
    native: np.dtype[Any] = DTYPES[type_name].newbyteorder("=")
    return native


def buffer_head(count: int, type_name: str) -> bytes:
    """Return the head of a buffer as 1.0.0-beta4 and later write it."""
    return _text(_MODE) + struct.pack(">q", count) + _text(type_name)


def read_head(counted: CountedStream) -> tuple[int, str]:
    """Read the number of elements and the name of their type.

    Raises
    ------
    CorruptFileError
        If there is no such head.
    """
    start = counted.offset
    mode = counted.take_text()
    if mode not in _COUNT_BYTES:
        must = f"a buffer must start with one of {', '.join(sorted(_COUNT_BYTES))}"
        raise counted.corrupt(must, repr(mode[:20]), start)
    count = int.from_bytes(counted.take(_COUNT_BYTES[mode]), "big", signed=True)
    if count < 0:
        must = "the number of elements must not be negative"
        raise counted.corrupt(must, str(count), start)
    return count, counted.take_text()


def read_elements(counted: CountedStream, most_bytes: int | None = None) -> Elements:
    """Read a whole buffer, head and elements.

    Parameters
    ----------
    counted : CountedStream
        Positioned at the start of a buffer.
    most_bytes : int, optional
        What compressed elements may take when they are inflated.

    Raises
    ------
    CorruptFileError
        If the stream ends too early, the head is impossible, or the elements are text,
        whose content ND4J does not store.
    """
    start = counted.offset
    count, type_name = read_head(counted)
    if type_name == "COMPRESSED":
        return _read_compressed(counted, count, most_bytes)
    return _read_plain(counted, count, type_name, start)


def write_elements(stream: BinaryIO, elements: Elements) -> None:
    """Write a whole buffer, head and elements.

    Parameters
    ----------
    stream : binary stream
    elements : Elements
        Of a dtype that fits `type_name`; for BFLOAT16 the lower halves must be 0.
    """
    values, type_name = elements.values, elements.type_name
    head = buffer_head(values.size, type_name)
    if elements.is_gzipped:
        raw = _encoded(values, type_name)
        stream.write(_gzipped(head + raw, elements, len(raw)))
        return
    stream.write(head)
    # In pieces: the bytes of a large model need not lie in memory a second time.
    for start in range(0, values.size, _PIECE):
        stream.write(_encoded(values[start : start + _PIECE], type_name))


def _read_plain(
    counted: CountedStream, count: int, type_name: str, start: int
) -> Elements:
    if type_name == "UTF8":
        # DL4J writes the head of such a buffer and nothing more.
        must = "an array must hold numbers"
        raise counted.corrupt(must, "text (UTF8), which is not stored,", start)
    if type_name not in DTYPES:
        must = "elements must be of a known type"
        raise counted.corrupt(must, repr(type_name), start)
    raw = counted.take(count * DTYPES[type_name].itemsize)
    return Elements(_decoded(raw, type_name), type_name)


def _read_compressed(
    counted: CountedStream, count: int, most_bytes: int | None
) -> Elements:
    start = counted.offset
    algorithm = counted.take_text()
    _, n_original, n_elements, ordinal = struct.unpack(">qqqi", counted.take(28))
    type_name = _ORDINALS[ordinal] if 0 <= ordinal < len(_ORDINALS) else "UNKNOWN"
    n_expected = n_elements * DTYPES[type_name].itemsize if type_name in DTYPES else -1
    if n_expected < 0 or n_expected != n_original:
        must = "a compressed buffer must declare a known type and its size"
        got = f"{n_elements} elements of type {type_name} in {n_original} bytes"
        raise counted.corrupt(must, got, start)
    if most_bytes is not None and n_original > most_bytes:
        must = f"compressed elements must take at most {most_bytes} bytes"
        raise counted.corrupt(must, str(n_original), start)
    if algorithm == "NOOP":
        # DL4J declares 0 bytes here, writes memory as it lies, little-endian, and reads
        # other numbers back. These are the right ones; we write them uncompressed.
        raw = np.frombuffer(counted.take(n_expected), DTYPES[type_name])
        return Elements(_decoded(raw.byteswap().tobytes(), type_name), type_name)
    if algorithm == "GZIP":
        return _read_gzipped(counted, counted.take(count), n_original, start)
    must = "a compressed buffer must be GZIP or NOOP"
    raise counted.corrupt(must, repr(algorithm), start)


def _read_gzipped(
    counted: CountedStream, raw: bytes, n_original: int, start: int
) -> Elements:
    # Bounded by what the head declares, which was checked against what came.
    most = min(n_original + _MOST_HEAD_BYTES, _MOST_INFLATION * len(raw))
    try:
        plain = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS).decompress(raw, most + 1)
    except zlib.error as error:
        must = "a compressed buffer must be valid gzip"
        raise counted.corrupt(must, str(error), start) from error
    inner = CountedStream(io.BytesIO(plain), f"{counted.name} (inflated)")
    count, type_name = read_head(inner)
    # Not read_elements: a gzip that holds itself would never end.
    elements = _read_plain(inner, count, type_name, 0)
    return Elements(elements.values, type_name, is_gzipped=True)


def _gzipped(plain: bytes, elements: Elements, n_original: int) -> bytes:
    deflate = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    body = deflate.compress(plain) + deflate.flush()
    tail = struct.pack("<II", zlib.crc32(plain), len(plain) & 0xFFFFFFFF)
    raw = _JAVA_GZIP_HEAD + body + tail
    head = buffer_head(len(raw), "COMPRESSED") + _text("GZIP")
    ordinal = _ORDINALS.index(elements.type_name)
    sizes = (len(raw), n_original, elements.values.size, ordinal)
    return head + struct.pack(">qqqi", *sizes) + raw


def _decoded(raw: bytes, type_name: str) -> _Array:
    stored = np.frombuffer(raw, DTYPES[type_name])
    if type_name == "BFLOAT16":
        # bfloat16 is the upper half of a float32.
        bits: NDArray[np.uint32] = stored.astype(np.uint32) << np.uint32(16)
        return bits.view(np.float32)
    values: _Array = stored.astype(native_dtype(type_name))
    return values


def _encoded(values: _Array, type_name: str) -> bytes:
    if type_name == "BFLOAT16":
        bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
        values = bits >> np.uint32(16)
    raw: bytes = values.astype(DTYPES[type_name], copy=False).tobytes()
    return raw


def _text(value: str) -> bytes:
    return struct.pack(">H", len(value)) + value.encode("ascii")
