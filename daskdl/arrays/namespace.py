"""The library of an array, NumPy or CuPy, and copies between them.

Code asks the array instead of a flag, and CuPy is imported by nobody who does not
already hold one of its arrays.
"""

import sys
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.floating[Any]]


def array_namespace(x: Any) -> ModuleType:
    """Return the module whose functions work on `x`.

    Parameters
    ----------
    x : ndarray of NumPy or CuPy
        Only its type is looked at.

    Returns
    -------
    module
        ``cupy`` for a CuPy array, ``numpy`` for everything else.
    """
    module = type(x).__module__
    if module != "numpy" and module.partition(".")[0] == "cupy":
        # Whoever made the array has imported the module.
        return sys.modules["cupy"]
    return np


def compiles_kernels(namespace: ModuleType) -> bool:
    """Return whether a library is CuPy on a device, and not what stands in for it."""
    return hasattr(namespace, "RawKernel")


def to_host(x: Any) -> FloatArray:
    """Return `x`, of any shape, as a NumPy array; no copy if it is one already."""
    if array_namespace(x) is np:
        return np.asarray(x)
    host: FloatArray = x.get()
    return host


def to_device(x: Any, like: Any) -> FloatArray:
    """Return `x`, of any shape, as an array of the library that `like` belongs to.

    A copy is made only if `x` lies somewhere else.
    """
    return to_namespace(x, array_namespace(like))


def to_namespace(x: Any, namespace: ModuleType) -> FloatArray:
    """Return `x`, of any shape, as an array of a library, ``numpy`` or ``cupy``.

    A copy is made only if `x` lies somewhere else.
    """
    if array_namespace(x) is namespace:
        return x if hasattr(x, "dtype") else np.asarray(x)
    if namespace is np:
        return to_host(x)
    array: FloatArray = namespace.asarray(x)
    return array
