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

import math
from dataclasses import dataclass
from typing import Any, BinaryIO, TypeAlias

import numpy as np
from numpy.typing import NDArray

from daskdl.class_files import ClassFile
from daskdl.dl4j.arrays.buffer import (
    DTYPES,
    Elements,
    native_dtype,
    read_elements,
    write_elements,
)
from daskdl.dl4j.arrays.layout import (
    ArrayLayout,
    Order,
    dense_strides,
    is_dense,
    permutation,
)
from daskdl.dl4j.arrays.shape import ShapeInfo, read_shape_info, shape_buffer
from daskdl.dl4j.java.counted_stream import CountedStream
from daskdl.errors import DataError

__all__ = ["ARRAY", "StoredArray", "read_array", "read_stored", "write_array"]

_Array: TypeAlias = NDArray[Any]

_NAMES = {native_dtype(name): name for name in DTYPES if name != "BFLOAT16"}


@dataclass(frozen=True)
class StoredArray:
    """An array that was read, and how it was stored.

    Parameters
    ----------
    values : ndarray
        As :func:`read_array` returns them.
    layout : ArrayLayout
        With it, :func:`write_array` gives the bytes that 1.0.0-M2.1 wrote.
    """

    values: _Array
    layout: ArrayLayout

    @property
    def special_layout(self) -> ArrayLayout | None:
        """The layout, or None where the values alone are written just like this."""
        return None if self.layout == _plain_layout(self.values) else self.layout


def read_array(
    stream: BinaryIO | CountedStream,
    *,
    name: str = "stream",
    most_bytes: int | None = None,
) -> _Array:
    """Read one array and leave the stream right behind it.

    Parameters
    ----------
    stream : binary stream
        Positioned at the start of an array.
    name : str
        What messages call the stream, if it is no `CountedStream`.
    most_bytes : int, optional
        What compressed elements may take when they are inflated, at most a thousand
        times what they take in the stream.

    Returns
    -------
    ndarray
        A new array in native byte order, C or Fortran contiguous as it was stored.
        BFLOAT16 becomes float32, which holds all its values. What ``Nd4j.empty``
        returns, and DL4J writes but cannot read, has shape (0,).

    Raises
    ------
    CorruptFileError
        If the stream ends too early, a header is impossible, or the elements are text
        (UTF8), whose content ND4J does not store; with name and offset.
    """
    return read_stored(stream, name=name, most_bytes=most_bytes).values


def read_stored(
    stream: BinaryIO | CountedStream,
    *,
    name: str = "stream",
    most_bytes: int | None = None,
) -> StoredArray:
    """Read one array and how it is stored.

    Parameters and errors are those of :func:`read_array`.
    """
    counted = CountedStream.of(stream, name)
    info = read_shape_info(counted)
    if info.is_null:
        # An array without elements of a type we do not know is as empty as one of
        # floats.
        layout = ArrayLayout(info.type_name or "FLOAT", info.order, is_null=True)
        return StoredArray(np.empty(0, native_dtype(layout.type_name)), layout)
    elements = read_elements(counted, most_bytes)
    values = _arranged(counted, elements.values, info)
    return StoredArray(values, _layout(info, elements))


def write_array(
    stream: BinaryIO, array: _Array, layout: ArrayLayout | None = None
) -> None:
    """Write one array as ND4J 1.0.0-M2.1 does.

    Parameters
    ----------
    stream : binary stream
    array : ndarray
        Fortran contiguous arrays keep their order; all others are written in C order.
    layout : ArrayLayout, optional
        How the array was stored when it was read. Not followed where the array does not
        fit it any more: no value is rounded.

    Raises
    ------
    DataError
        If ND4J has no such dtype.
    """
    array = np.asarray(array)
    if array.dtype.newbyteorder("=") not in _NAMES:
        raise DataError(
            f"write_array: dtype must be one that ND4J has (bool, integers, float16, "
            f"float32, float64), got {array.dtype}."
        )
    plain = _plain_layout(array)
    if layout is None or not layout.fits(array):
        layout = plain
    if layout.is_null:
        info = ShapeInfo((), (), layout.order, layout.type_name, is_null=True)
        stream.write(shape_buffer(info))
        return
    is_ambiguous = array.flags.c_contiguous == array.flags.f_contiguous
    order = layout.order if is_ambiguous or layout.strides else plain.order
    strides = layout.strides or dense_strides(array.shape, order)
    stream.write(shape_buffer(ShapeInfo(array.shape, strides, order, layout.type_name)))
    flat = _flat(array, layout, order)
    write_elements(stream, Elements(flat, layout.type_name, layout.is_gzipped))


def _plain_layout(array: _Array) -> ArrayLayout:
    """Return the layout of an array that was not read from a file."""
    is_fortran = array.flags.f_contiguous and not array.flags.c_contiguous
    name = _NAMES[array.dtype.newbyteorder("=")]
    return ArrayLayout(name, "F" if is_fortran else "C")


def _flat(array: _Array, layout: ArrayLayout, order: Order) -> _Array:
    """Return the elements in the order in which they are stored."""
    if layout.strides is not None:
        array, order = array.transpose(permutation(array.shape, layout.strides)), "C"
    flat: _Array = array.reshape(-1, order=order)
    return flat


def _layout(info: ShapeInfo, elements: Elements) -> ArrayLayout:
    is_permuted = (
        not is_dense(info.shape, info.strides, "C")
        and not is_dense(info.shape, info.strides, "F")
        and permutation(info.shape, info.strides) is not None
    )
    return ArrayLayout(
        elements.type_name,
        info.order,
        info.strides if is_permuted else None,
        is_gzipped=elements.is_gzipped,
    )


def _arranged(counted: CountedStream, elements: _Array, info: ShapeInfo) -> _Array:
    n = math.prod(info.shape)
    if n > elements.size or (n == 0 and elements.size):
        must = f"an array of shape {info.shape} must have {n} elements"
        raise counted.corrupt(must, str(elements.size))
    if n == elements.size and is_dense(info.shape, info.strides, "C"):
        return elements.reshape(info.shape)
    if n == elements.size and is_dense(info.shape, info.strides, "F"):
        return elements.reshape(info.shape, order="F")
    last = sum((size - 1) * s for size, s in zip(info.shape, info.strides, strict=True))
    if last >= elements.size:
        must = (
            f"strides {info.strides} of shape {info.shape} must stay within "
            f"{elements.size} elements"
        )
        raise counted.corrupt(must, f"element {last}")
    # Along a single element any stride may stand, even one that NumPy cannot hold.
    sizes_and_strides = zip(info.shape, info.strides, strict=True)
    steps = [s * elements.itemsize if size > 1 else 0 for size, s in sizes_and_strides]
    view: _Array = np.lib.stride_tricks.as_strided(elements, info.shape, steps)
    copy: _Array = view.copy()
    return copy


# By this initial weights find what reads their files.
ARRAY = ClassFile(read_array, write_array)
