"""What pickles may name: stand-ins for the classes of Python, NumPy and Spark.

`STAND_INS` is the whole list. Each checks what it is given, and calls nothing that a
pickle brings along. None needs Spark.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from daskdl_bridge.readers.pickled_values import VALUES, row_of

__all__ = [
    "STAND_INS",
    "LabeledPoint",
    "PickledArray",
    "PickledType",
    "Vector",
    "built",
]

StandIn: TypeAlias = Callable[..., Any]

# Of films; each takes offsets of Arrow for every element if the others are of length 1.
_MOST_AXES = 4

_TYPES = frozenset(
    ["b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"]
)

# The numbers of array.array's machine formats.
_ARRAY_FORMATS = (
    *("u1", "i1", "<u2", ">u2", "<i2", ">i2", "<u4", ">u4", "<i4", ">i4"),
    *("<u8", ">u8", "<i8", ">i8", "<f4", ">f4", "<f8", ">f8"),
)
_ARRAY_CODES = frozenset("bBhHiIlLqQfd")


class PickledType:
    """A dtype, whose byte order a pickle tells last.

    Parameters
    ----------
    dtype : numpy.dtype
        Of booleans, integers or floats.
    """

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype


class PickledArray:
    """An array, which a pickle makes first and fills later.

    Parameters
    ----------
    array : ndarray, optional
        None until it is filled; in native byte order and C order.
    """

    def __init__(self, array: NDArray[Any] | None = None) -> None:
        self.array = array


@dataclass(frozen=True)
class Vector:
    """A vector of Spark.

    Parameters
    ----------
    values : ndarray of shape (n,), float64
    indices : ndarray of shape (n,), int32, optional
        None if it is dense.
    size : int, optional
        None if it is dense.
    """

    values: NDArray[Any]
    indices: NDArray[Any] | None = None
    size: int | None = None


@dataclass(frozen=True)
class LabeledPoint:
    """An example of Spark's older library.

    Parameters
    ----------
    label : float
    features : Vector
    """

    label: float
    features: Vector


def built(target: Any, state: Any) -> None:
    """Give a dtype its byte order, or an array its elements.

    Raises
    ------
    ValueError, TypeError
        If the target is neither, or the state is none of theirs.
    """
    if not isinstance(state, tuple):
        raise TypeError("a state that is no tuple")
    if isinstance(target, PickledType):
        _, order, *_ = state
        if order not in ("<", ">", "|", "="):
            raise ValueError("an unknown byte order")
        target.dtype = target.dtype.newbyteorder(order)
    elif isinstance(target, PickledArray) and target.array is None:
        _, shape, kind, is_fortran, data = state
        target.array = _shaped(data, kind, shape, "F" if is_fortran else "C")
    else:
        raise ValueError("a state for what has none")


def _dtype(code: Any, *_: Any) -> PickledType:
    if code not in _TYPES:
        raise ValueError("a dtype of other things than booleans, integers and floats")
    return PickledType(np.dtype(code))


def _reconstruct(kind: Any, *_: Any) -> PickledArray:
    if kind is not _ndarray:
        raise ValueError("an array of an unknown class")
    return PickledArray()


def _ndarray(*_: Any) -> Any:
    raise ValueError("an array without elements")


def _frombuffer(data: Any, kind: Any, shape: Any, order: Any) -> PickledArray:
    return PickledArray(_shaped(data, kind, shape, order))


def _scalar(kind: Any, data: Any) -> Any:
    return _shaped(data, kind, (1,), "C")[0].item()


def _shaped(data: Any, kind: Any, shape: Any, order: Any) -> NDArray[Any]:
    if not isinstance(kind, PickledType) or not isinstance(shape, tuple):
        raise TypeError("an array without dtype or shape")
    if not 1 <= len(shape) <= _MOST_AXES or not all(
        isinstance(n, int) and n >= 0 for n in shape
    ):
        raise ValueError(f"an array that has not 1 to {_MOST_AXES} axes")
    # Rows without elements take memory as well, and no bytes tell how many are right.
    if len(shape) > 1 and 0 in shape:
        raise ValueError("an array of several axes without elements")
    n_bytes = math.prod(shape) * kind.dtype.itemsize
    if len(_bytes_of(data)) != n_bytes:
        raise ValueError(f"{len(data)} bytes for an array of {n_bytes}")
    if order not in ("C", "F"):
        raise ValueError("an unknown order of elements")
    # As boolean NumPy would take any byte.
    is_bool = kind.dtype.kind == "b"
    array = np.frombuffer(data, "u1" if is_bool else kind.dtype)
    array = array.astype(kind.dtype.newbyteorder("="), copy=False)
    return np.ascontiguousarray(array.reshape(shape, order=order))


def _bytes_of(data: Any) -> bytes:
    if not isinstance(data, bytes):
        raise TypeError("elements that are no bytes")
    return data


def _encode(text: Any, encoding: Any) -> bytes:
    # Protocol 2 has no bytes.
    if not isinstance(text, str) or encoding not in ("latin1", "latin-1"):
        raise ValueError("an encoding other than latin1")
    return text.encode("latin1")


def _bytes(*of: Any) -> bytes:
    if len(of) == 2:
        return _encode(*of)
    return _bytes_of(*of) if of else b""


def _array(code: Any, numbers: Any) -> PickledArray:
    # Only protocol 2 has it as a list; its elements are of Python.
    if code is _array or code not in _ARRAY_CODES or not isinstance(numbers, list):
        raise ValueError("an array of an unknown class")
    if not {int, float}.issuperset(map(type, numbers)):
        raise ValueError("an array of other things than numbers")
    # What overflows becomes infinite and is refused where infinite numbers are.
    with np.errstate(over="ignore"):
        return PickledArray(np.array(numbers, code))


def _array_of_bytes(kind: Any, code: Any, form: Any, data: Any) -> PickledArray:
    if kind is not _array or code not in _ARRAY_CODES:
        raise ValueError("an array of an unknown class")
    if not isinstance(form, int) or not 0 <= form < len(_ARRAY_FORMATS):
        raise ValueError("an array of an unknown machine format")
    dtype = np.dtype(_ARRAY_FORMATS[form])
    return PickledArray(_numbers(data, dtype))


def _numbers(data: Any, dtype: Any) -> NDArray[Any]:
    shape = (len(_bytes_of(data)) // np.dtype(dtype).itemsize,)
    return _shaped(data, PickledType(np.dtype(dtype)), shape, "C")


def _dense(data: Any) -> Vector:
    return Vector(_numbers(data, "<f8"))


def _sparse(size: Any, indices: Any, values: Any) -> Vector:
    if not isinstance(size, int) or not 0 <= size < 1 << 31:
        raise ValueError("a vector of an impossible size")
    return Vector(_numbers(values, "<f8"), _numbers(indices, "<i4"), size)


def _labeled_point(label: Any, features: Any) -> LabeledPoint:
    if not isinstance(label, int | float) or not isinstance(features, Vector):
        raise TypeError("a labelled point without label or vector")
    return LabeledPoint(float(label), features)


_OF_NUMPY: Mapping[str, StandIn] = MappingProxyType(
    {
        "multiarray._reconstruct": _reconstruct,
        "multiarray.scalar": _scalar,
        "numeric._frombuffer": _frombuffer,
    }
)

STAND_INS: Mapping[str, StandIn] = MappingProxyType(
    {
        "numpy.dtype": _dtype,
        "numpy.ndarray": _ndarray,
        **{f"numpy.core.{name}": one for name, one in _OF_NUMPY.items()},
        **{f"numpy._core.{name}": one for name, one in _OF_NUMPY.items()},
        "array.array": _array,
        "array._array_reconstructor": _array_of_bytes,
        "_codecs.encode": _encode,
        # Protocol 2 has Python 2's names.
        **{
            f"{module}.{name}": _bytes
            for module in ("builtins", "__builtin__")
            for name in ("bytes", "bytearray")
        },
        **{f"pyspark.{of}.linalg.DenseVector": _dense for of in ("ml", "mllib")},
        **{f"pyspark.{of}.linalg.SparseVector": _sparse for of in ("ml", "mllib")},
        "pyspark.mllib.regression.LabeledPoint": _labeled_point,
        "pyspark.sql.types._create_row": row_of,
        **VALUES,
    }
)
"""What a pickle may name, module and name, to what is called in its place."""
