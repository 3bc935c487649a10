"""The first buffer of an ND4J array: its shape, strides, type and order.

See :mod:`daskdl.dl4j.arrays.nd4j` for the arrays.
"""

import math
from dataclasses import dataclass

import numpy as np

from daskdl.dl4j.arrays.buffer import DTYPES, buffer_head, read_head
from daskdl.dl4j.arrays.layout import Order, dense_strides
from daskdl.dl4j.java.counted_stream import CountedStream

__all__ = ["ShapeInfo", "read_shape_info", "shape_buffer"]

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
_ALL_TYPE_BITS = _UNSIGNED + sum(
    bits for bits in _TYPE_BITS.values() if bits < _UNSIGNED
)


@dataclass(frozen=True)
class ShapeInfo:
    """Shape and strides (in elements) of an array, and its type, as they are stored.

    Parameters
    ----------
    shape, strides : tuple of int
        Not negative, and of the same length.
    order : {"C", "F"}
        What ND4J names; the strides decide.
    type_name : str or None
        None if there is no type in this buffer, as in old releases.
    is_null : bool
        ``Nd4j.empty(type)``: no buffer of elements follows.
    """

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    order: Order = "C"
    type_name: str | None = None
    is_null: bool = False


def read_shape_info(counted: CountedStream) -> ShapeInfo:
    """Read the buffer and check that an array can be like that.

    Raises
    ------
    CorruptFileError
        If it cannot.
    """
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
    return _checked(counted, numbers, start)


def shape_buffer(info: ShapeInfo) -> bytes:
    """Return the buffer as 1.0.0-beta4 and later write it."""
    is_empty = info.is_null or 0 in info.shape
    bits = _TYPE_BITS[str(info.type_name)] | (_EMPTY_BIT if is_empty else 0)
    numbers = [
        len(info.shape),
        *info.shape,
        *info.strides,
        bits,
        _element_wise_stride(info),
        _ORDER_F if info.order == "F" else _ORDER_C,
    ]
    return buffer_head(len(numbers), "LONG") + np.array(numbers, ">i8").tobytes()


def _element_wise_stride(info: ShapeInfo) -> int:
    dense = (dense_strides(info.shape, order) for order in ("C", "F"))
    return int(0 not in info.shape and info.strides in dense)


def _checked(counted: CountedStream, numbers: list[int], start: int) -> ShapeInfo:
    rank = numbers[0]
    if len(numbers) != 2 * rank + 4:
        must = f"an array of rank {rank} must have {2 * rank + 4} numbers of shape"
        raise counted.corrupt(must, str(len(numbers)), start)
    shape, strides = numbers[1 : rank + 1], numbers[rank + 1 : 2 * rank + 1]
    if min(shape, default=0) < 0 or min(strides, default=0) < 0:
        must = "shape and strides must not be negative"
        raise counted.corrupt(must, f"{shape} and {strides}", start)
    if math.prod(max(1, size) for size in shape) > _MOST_ELEMENTS:
        must = f"an array must have at most {_MOST_ELEMENTS} elements"
        raise counted.corrupt(must, f"shape {shape}", start)
    extras, _, order = numbers[2 * rank + 1 :]
    return ShapeInfo(
        tuple(shape),
        tuple(strides),
        "F" if order == _ORDER_F else "C",
        _type_of_extras(extras),
        # Nd4j.empty writes no second buffer; a shape with a 0 in it is followed by one.
        is_null=bool(extras & _EMPTY_BIT) and not rank,
    )


def _type_of_extras(extras: int) -> str | None:
    return next(
        (name for name, bits in _TYPE_BITS.items() if bits == extras & _ALL_TYPE_BITS),
        None,
    )
