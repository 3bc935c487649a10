"""ND4J's binary arrays, as DL4J stores them in data sets and models.

An array is two buffers in a row, its shape information and its elements, all
big-endian, without magic number, length or checksum. Three generations are read; the
one of 1.0.0-beta4 to M2.1 is written. A header is believed only after it was checked:
nothing is allocated that the stream does not hold.

References
----------
``Nd4j.write`` and ``BaseDataBuffer.write`` of Deeplearning4j 1.0.0-M2.1, checked
against arrays that it wrote.
"""

import functools
import math
import operator
import struct
from dataclasses import dataclass
from typing import Any, BinaryIO, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from daskdl.data.counted_stream import CountedStream
from daskdl.data.nd4j_buffer import (
    DTYPES,
    buffer_head,
    native_dtype,
    read_elements,
    read_head,
)
from daskdl.errors import DataError

__all__ = ["read_array", "write_array"]

_Array: TypeAlias = NDArray[Any]
_Order: TypeAlias = Literal["C", "F"]

_EMPTY_BIT = 8
_ORDER_C, _ORDER_F = 99, 102
# ND4J's own limit; NumPy's is 64.
_MOST_DIMENSIONS = 32
# Of 16 bytes each they just fit into the address space.
_MOST_ELEMENTS = 2**59

# Flags in the shape information that say the type; unsigned types set two.
_UNSIGNED = 8388608
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
    "UBYTE": _UNSIGNED + 32768,
    "UINT16": _UNSIGNED + 65536,
    "UINT32": _UNSIGNED + 131072,
    "UINT64": _UNSIGNED + 262144,
}
_NAMES = {native_dtype(name): name for name in DTYPES if name != "BFLOAT16"}


@dataclass(frozen=True)
class _ShapeInfo:
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    extras: int


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
        return np.empty(0, native_dtype(_type_of_extras(info.extras)))
    return _arranged(counted, read_elements(counted), info)


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
    order: _Order = "F" if is_fortran else "C"
    info = _shape_info(array, type_name, order)
    stream.write(buffer_head(len(info), "LONG"))
    stream.write(struct.pack(f">{len(info)}q", *info))
    stream.write(buffer_head(array.size, type_name))
    stream.write(array.astype(DTYPES[type_name], copy=False).tobytes(order))


def _shape_info(array: _Array, type_name: str, order: _Order) -> list[int]:
    return [
        array.ndim,
        *array.shape,
        *_dense_strides(array.shape, order),
        _TYPE_BITS[type_name] | (0 if array.size else _EMPTY_BIT),
        1 if array.size else 0,  # element-wise stride
        _ORDER_F if order == "F" else _ORDER_C,
    ]


def _dense_strides(shape: tuple[int, ...], order: _Order) -> list[int]:
    if 0 in shape:
        return [0] * len(shape)
    # ND4J writes vectors of rank 2 like this in either order.
    if len(shape) == 2 and 1 in shape:
        return [1, 1]
    sizes = shape if order == "F" else shape[::-1]
    strides = [math.prod(sizes[:k]) for k in range(len(sizes))]
    return strides if order == "F" else strides[::-1]


def _read_shape_info(counted: CountedStream) -> _ShapeInfo:
    start = counted.offset
    count, type_name = read_head(counted)
    if type_name not in ("LONG", "INT"):
        must = "the shape of an array must be LONG or INT"
        raise counted.corrupt(must, repr(type_name), start)
    most = 2 * _MOST_DIMENSIONS + 4
    if not 4 <= count <= most:
        must = f"the shape of an array must take 4 to {most} numbers"
        raise counted.corrupt(must, str(count), start)
    dtype = DTYPES[type_name]
    numbers = np.frombuffer(counted.take(count * dtype.itemsize), dtype).tolist()
    rank = numbers[0]
    if count != 2 * rank + 4:
        must = f"an array of rank {rank} must have {2 * rank + 4} numbers of shape"
        raise counted.corrupt(must, str(count), start)
    shape, strides = numbers[1 : rank + 1], numbers[rank + 1 : 2 * rank + 1]
    if min(shape, default=0) < 0 or min(strides, default=0) < 0:
        must = "shape and strides must not be negative"
        raise counted.corrupt(must, f"{shape} and {strides}", start)
    if math.prod(max(1, size) for size in shape) > _MOST_ELEMENTS:
        must = f"an array must have at most {_MOST_ELEMENTS} elements"
        raise counted.corrupt(must, f"shape {shape}", start)
    return _ShapeInfo(tuple(shape), tuple(strides), extras=numbers[2 * rank + 1])


def _type_of_extras(extras: int) -> str:
    every = functools.reduce(operator.or_, _TYPE_BITS.values())
    known = (name for name, bits in _TYPE_BITS.items() if bits == extras & every)
    # An array without elements of a type we do not know is as empty as one of floats.
    return next(known, "FLOAT")


def _arranged(counted: CountedStream, elements: _Array, info: _ShapeInfo) -> _Array:
    n = math.prod(info.shape)
    if n > elements.size or (n == 0 and elements.size):
        must = f"an array of shape {info.shape} must have {n} elements"
        raise counted.corrupt(must, str(elements.size))
    if n == elements.size and _is_dense(info, "C"):
        return elements.reshape(info.shape)
    if n == elements.size and _is_dense(info, "F"):
        return elements.reshape(info.shape, order="F")
    last = sum((size - 1) * s for size, s in zip(info.shape, info.strides, strict=True))
    if last >= elements.size:
        must = (
            f"strides {info.strides} of shape {info.shape} must stay within "
            f"{elements.size} elements"
        )
        raise counted.corrupt(must, f"element {last}")
    step = elements.itemsize
    view: _Array = np.lib.stride_tricks.as_strided(
        elements, info.shape, [s * step for s in info.strides]
    )
    copy: _Array = view.copy()
    return copy


def _is_dense(info: _ShapeInfo, order: _Order) -> bool:
    if 0 in info.shape:
        return True
    dense = _dense_strides(info.shape, order)
    return all(
        size == 1 or stride == expected
        for size, stride, expected in zip(info.shape, info.strides, dense, strict=True)
    )
