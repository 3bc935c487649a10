"""The layout in which ND4J stored an array, kept to write it the same.

NumPy has no bfloat16, does not tell C from Fortran order where only one dimension is
longer than 1, and knows neither ND4J's order letter of a permuted array nor its
compressed buffers. A layout carries these from reading to writing, so that a file
comes out as it went in.
"""

import math
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from daskdl.dl4j.arrays.buffer import native_dtype

__all__ = ["ArrayLayout", "Order", "dense_strides", "is_dense", "permutation"]

Order: TypeAlias = Literal["C", "F"]


@dataclass(frozen=True)
class ArrayLayout:
    """How an array is stored.

    Parameters
    ----------
    type_name : str
        ND4J's name of the elements' type: ``FLOAT``, ``BFLOAT16``, ...
    order : {"C", "F"}
        The order that ND4J names. It decides where the array itself leaves a choice.
    strides : tuple of int, optional
        In elements; only for arrays that are dense in neither order, but are after a
        permutation of their axes, as ND4J writes those that ``permute`` returned.
    is_gzipped : bool
        The elements are in a compressed buffer.
    is_null : bool
        What ``Nd4j.empty(type)`` returns: no shape, no elements, no buffer of elements.
    """

    type_name: str
    order: Order = "C"
    strides: tuple[int, ...] | None = None
    is_gzipped: bool = False
    is_null: bool = False

    def fits(self, array: NDArray[Any]) -> bool:
        """Say whether an array, any shape, can be stored so and read back unchanged."""
        if native_dtype(self.type_name) != array.dtype.newbyteorder("="):
            return False
        if self.type_name == "BFLOAT16" and not _is_bfloat16(array):
            return False
        if self.is_null:
            return array.shape == (0,)
        return (
            self.strides is None or permutation(array.shape, self.strides) is not None
        )


def dense_strides(shape: tuple[int, ...], order: Order) -> tuple[int, ...]:
    """Return the strides, in elements, that ND4J gives a dense array."""
    if 0 in shape:
        return (0,) * len(shape)
    # ND4J writes vectors of rank 2 like this in either order.
    if len(shape) == 2 and 1 in shape:
        return (1, 1)
    sizes = shape if order == "F" else shape[::-1]
    strides = [math.prod(sizes[:k]) for k in range(len(sizes))]
    return tuple(strides if order == "F" else strides[::-1])


def is_dense(shape: tuple[int, ...], strides: tuple[int, ...], order: Order) -> bool:
    """Say whether the strides are those of a dense array of that order."""
    if 0 in shape:
        return True
    return all(
        size == 1 or stride == expected
        for size, stride, expected in zip(
            shape, strides, dense_strides(shape, order), strict=True
        )
    )


def permutation(shape: tuple[int, ...], strides: tuple[int, ...]) -> list[int] | None:
    """Return the axes in the order in which they are dense in C order.

    Parameters
    ----------
    shape, strides : tuple of int
        Strides in elements.

    Returns
    -------
    list of int or None
        None if there is no such order: elements overlap, or leave gaps.
    """
    if len(shape) != len(strides) or 0 in shape:
        return None
    axes = sorted(range(len(shape)), key=lambda axis: -strides[axis])
    expected = 1
    for axis in reversed(axes):
        if shape[axis] != 1 and strides[axis] != expected:
            return None
        expected *= shape[axis]
    return axes


def _is_bfloat16(array: NDArray[Any]) -> bool:
    bits = np.ascontiguousarray(array, np.float32).view(np.uint32)
    return not np.any(bits & np.uint32(0xFFFF))
