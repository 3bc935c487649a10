"""ND4J's binary arrays, as DL4J stores them in data sets and models.

An array is two buffers in a row, its shape information and its elements, all
big-endian, without magic number, length or checksum. Three generations are read; the
one of 1.0.0-beta4 to M2.1 is written. A header is believed only after it was checked:
nothing is allocated that the stream does not hold.

References
----------
``Nd4j.write`` and ``BaseDataBuffer.write`` of Deeplearning4j 1.0.0-M2.1, checked
against arrays that it and older releases wrote.
"""

import math
import struct
import zlib
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from daskdl.data.counted_stream import CountedStream
from daskdl.errors import DataError

__all__ = ["read_array", "write_array"]

_Array = NDArray[Any]

# Number of bytes of the element count by allocation mode.
_COUNT_BYTES = {
    "DIRECT": 4,
    "HEAP": 4,
    "JAVACPP": 4,
    "LONG_SHAPE": 8,
    "MIXED_DATA_TYPES": 8,
}
_MODE = "MIXED_DATA_TYPES"

_EMPTY_BIT = 8
_ORDER_C, _ORDER_F = 99, 102
# ND4J's own limit; NumPy's is 64.
_MOST_DIMENSIONS = 32
# Of 16 bytes each they just fit into the address space.
_MOST_ELEMENTS = 2**59

_TYPE_BITS = {
    "BFLOAT16": 2048,
    "HALF": 4096,
    "FLOAT": 8192,
    "DOUBLE": 16384,
    "BYTE": 32768,
    "SHORT": 65536,
    "INT": 131072,
    "LONG": 262144,
    "BOOL": 524288,
    "UBYTE": 8388608 + 32768,
    "UINT16": 8388608 + 65536,
    "UINT32": 8388608 + 131072,
    "UINT64": 8388608 + 262144,
}
_DTYPES: dict[str, np.dtype[Any]] = {
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
_NAMES = {
    dtype.newbyteorder("="): name
    for name, dtype in _DTYPES.items()
    if name != "BFLOAT16"
}
# In the order of ND4J's enum, for the ordinal in the header of a compressed buffer.
_ORDINALS = (
    *("DOUBLE", "FLOAT", "HALF", "LONG", "INT", "SHORT", "UBYTE", "BYTE", "BOOL"),
    *("UTF8", "COMPRESSED", "BFLOAT16", "UINT16", "UINT32", "UINT64", "UNKNOWN"),
)
# Deflate cannot shrink more than this.
_MOST_INFLATION = 1032


@dataclass(frozen=True)
class _ShapeInfo:
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    extras: int
    order: int


def read_array(stream: BinaryIO | CountedStream, *, name: str = "stream") -> _Array:
    """Read one array and leave the stream right behind it.

    Parameters
    ----------
    stream : binary stream
        Positioned at the start of an array.
    name : str
        What messages call the stream, if it is no `CountedStream`.

    Returns
    -------
    ndarray
        A new array in native byte order, C or Fortran contiguous as it was stored.
        BFLOAT16 becomes float32, which holds all its values.

    Raises
    ------
    CorruptFileError
        If the stream ends too early, or a header is impossible; with name and offset.
    DataError
        If the elements are text (UTF8), whose content ND4J does not store.
    """
    counted = CountedStream.of(stream, name)
    info = _read_shape_info(counted)
    # Nd4j.empty writes no second buffer; a shape with a 0 in it is followed by one.
    if info.extras & _EMPTY_BIT and not info.shape:
        return np.empty(0, _native(_type_of_extras(info.extras) or "FLOAT"))
    elements = _read_elements(counted)
    return _arranged(counted, elements, info)


def write_array(stream: BinaryIO, array: _Array) -> None:
    """Write one array as ND4J 1.0.0-M2.1 does.

    Parameters
    ----------
    stream : binary stream
    array : ndarray
        Fortran contiguous arrays keep their order; all others are written in C order.

    Raises
    ------
    DataError
        If ND4J has no such dtype.
    """
    array = np.asarray(array)
    type_name = _NAMES.get(array.dtype.newbyteorder("="))
    if type_name is None:
        raise DataError(
            f"write_array: dtype must be one that ND4J has (bool, integers, float16, "
            f"float32, float64), got {array.dtype}."
        )
    is_fortran = array.flags.f_contiguous and not array.flags.c_contiguous
    order = "F" if is_fortran else "C"
    info = _shape_info(array, type_name, order)
    stream.write(_buffer_head(len(info), "LONG"))
    stream.write(struct.pack(f">{len(info)}q", *info))
    stream.write(_buffer_head(array.size, type_name))
    stream.write(array.astype(_DTYPES[type_name], copy=False).tobytes(order))


def _shape_info(array: _Array, type_name: str, order: str) -> list[int]:
    extras = _TYPE_BITS[type_name] | (0 if array.size else _EMPTY_BIT)
    element_stride = 1 if array.size else 0
    code = _ORDER_F if order == "F" else _ORDER_C
    return [
        array.ndim,
        *array.shape,
        *_dense_strides(array.shape, order),
        extras,
        element_stride,
        code,
    ]


def _dense_strides(shape: tuple[int, ...], order: str) -> list[int]:
    if 0 in shape:
        return [0] * len(shape)
    # ND4J writes vectors of rank 2 like this in either order.
    if len(shape) == 2 and 1 in shape:
        return [1, 1]
    sizes = shape if order == "F" else shape[::-1]
    strides = [math.prod(sizes[:k]) for k in range(len(sizes))]
    return strides if order == "F" else strides[::-1]


def _buffer_head(count: int, type_name: str) -> bytes:
    return _text(_MODE) + struct.pack(">q", count) + _text(type_name)


def _text(value: str) -> bytes:
    return struct.pack(">H", len(value)) + value.encode("ascii")


def _read_shape_info(counted: CountedStream) -> _ShapeInfo:
    start = counted.offset
    count, type_name = _read_buffer_head(counted)
    if type_name not in ("LONG", "INT"):
        raise counted.corrupt(
            "the shape of an array must be LONG or INT", repr(type_name), start
        )
    if not 4 <= count <= 2 * _MOST_DIMENSIONS + 4:
        raise counted.corrupt(
            f"the shape of an array must take 4 to {2 * _MOST_DIMENSIONS + 4} numbers",
            str(count),
            start,
        )
    dtype = _DTYPES[type_name]
    numbers = np.frombuffer(counted.take(count * dtype.itemsize), dtype).tolist()
    rank = numbers[0]
    if count != 2 * rank + 4:
        raise counted.corrupt(
            f"an array of rank {rank} must have {2 * rank + 4} numbers of shape",
            str(count),
            start,
        )
    shape, strides = numbers[1 : rank + 1], numbers[rank + 1 : 2 * rank + 1]
    extras, _, order = numbers[2 * rank + 1 :]
    if min(shape, default=0) < 0 or min(strides, default=0) < 0:
        raise counted.corrupt(
            "shape and strides must not be negative", f"{shape} and {strides}", start
        )
    if math.prod(max(1, size) for size in shape) > _MOST_ELEMENTS:
        must = f"an array must have at most {_MOST_ELEMENTS} elements"
        raise counted.corrupt(must, f"shape {shape}", start)
    return _ShapeInfo(tuple(shape), tuple(strides), extras, order)


def _read_buffer_head(counted: CountedStream) -> tuple[int, str]:
    start = counted.offset
    mode = counted.take_text()
    if mode not in _COUNT_BYTES:
        raise counted.corrupt(
            f"a buffer must start with one of {', '.join(sorted(_COUNT_BYTES))}",
            repr(mode[:20]),
            start,
        )
    n_bytes = _COUNT_BYTES[mode]
    count = int.from_bytes(counted.take(n_bytes), "big", signed=True)
    if count < 0:
        raise counted.corrupt(
            "the number of elements must not be negative", str(count), start
        )
    return count, counted.take_text()


def _read_elements(counted: CountedStream) -> _Array:
    start = counted.offset
    count, type_name = _read_buffer_head(counted)
    if type_name == "COMPRESSED":
        return _read_compressed(counted, count)
    if type_name == "UTF8":
        raise DataError(
            f"{counted.name}: an array must hold numbers, got text (UTF8) at offset "
            f"{start}, whose content ND4J does not store."
        )
    if type_name not in _DTYPES:
        raise counted.corrupt(
            "elements must be of a known type", repr(type_name), start
        )
    return _decoded(counted.take(count * _DTYPES[type_name].itemsize), type_name)


def _read_compressed(counted: CountedStream, count: int) -> _Array:
    start = counted.offset
    algorithm = counted.take_text()
    n_compressed, n_original, n_elements, ordinal = struct.unpack(
        ">qqqi", counted.take(28)
    )
    type_name = _ORDINALS[ordinal] if 0 <= ordinal < len(_ORDINALS) else "UNKNOWN"
    if type_name not in _DTYPES or n_compressed != count:
        raise counted.corrupt(
            f"a compressed buffer must declare a known type and {count} bytes",
            f"{type_name} and {n_compressed} bytes",
            start,
        )
    n_expected = n_elements * _DTYPES[type_name].itemsize
    is_possible = 0 <= n_elements <= _MOST_INFLATION * count
    if algorithm not in ("GZIP", "NOOP") or n_original != n_expected or not is_possible:
        raise counted.corrupt(
            f"a compressed buffer must be GZIP or NOOP of {n_expected} bytes",
            f"{algorithm!r} of {n_original} bytes",
            start,
        )
    raw = counted.take(count)
    if algorithm == "GZIP":
        raw = _inflated(counted, raw, n_expected)
    if len(raw) != n_expected:
        raise counted.corrupt(
            f"a compressed buffer must hold {n_expected} bytes", str(len(raw)), start
        )
    return _decoded(raw, type_name)


def _inflated(counted: CountedStream, raw: bytes, n_expected: int) -> bytes:
    inflater = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    try:
        # One byte more than declared: enough to see a lie, too little to do harm.
        return inflater.decompress(raw, n_expected + 1)
    except zlib.error as error:
        raise counted.corrupt("a buffer must be valid gzip", str(error)) from error


def _decoded(raw: bytes, type_name: str) -> _Array:
    stored = np.frombuffer(raw, _DTYPES[type_name])
    if type_name == "BFLOAT16":
        # bfloat16 is the upper half of a float32.
        return (stored.astype(np.uint32) << np.uint32(16)).view(np.float32)
    return stored.astype(_native(type_name))


def _native(type_name: str) -> np.dtype[Any]:
    if type_name == "BFLOAT16":
        return np.dtype(np.float32)
    return _DTYPES[type_name].newbyteorder("=")


def _type_of_extras(extras: int) -> str | None:
    known = 0
    for bits in _TYPE_BITS.values():
        known |= bits
    matching = (name for name, bits in _TYPE_BITS.items() if bits == extras & known)
    return next(matching, None)


def _arranged(counted: CountedStream, elements: _Array, info: _ShapeInfo) -> _Array:
    n = math.prod(info.shape)
    if n == 0 or n > elements.size:
        if n == elements.size:
            return elements.reshape(info.shape)
        raise counted.corrupt(
            f"an array of shape {info.shape} must have {n} elements",
            str(elements.size),
        )
    for order in ("C", "F"):
        if n == elements.size and _is_dense(info, order):
            return elements.reshape(info.shape, order="C" if order == "C" else "F")
    last = sum((size - 1) * s for size, s in zip(info.shape, info.strides, strict=True))
    if last >= elements.size:
        raise counted.corrupt(
            f"strides {info.strides} of shape {info.shape} must stay within "
            f"{elements.size} elements",
            f"element {last}",
        )
    step = elements.itemsize
    return np.lib.stride_tricks.as_strided(
        elements, info.shape, [s * step for s in info.strides]
    ).copy()


def _is_dense(info: _ShapeInfo, order: str) -> bool:
    dense = _dense_strides(info.shape, order)
    return all(
        size == 1 or stride == expected
        for size, stride, expected in zip(info.shape, info.strides, dense, strict=True)
    )
