"""Which arrays go to compiled code.

A kernel is a documented function of NumPy, or of another array library. Where compiled
code takes its place, its first lines ask for that and hand the arrays over::

    if is_compiled_for(x, out):
        cpu.f(x, out)
        return out

A decorator that asked would add 0.2 to 0.5 microseconds to each call, and could not say
what else a kernel must know than the types of its arrays.
"""

import numpy as np

from daskdl.arrays.namespace import FloatArray, array_namespace, compiles_kernels
from daskdl.kernels.jit import numba_is_used

_COMPILED_TYPES = (np.dtype(np.float32), np.dtype(np.float64))


def is_compiled_for(first: FloatArray, *others: FloatArray) -> bool:
    """Return whether the compiled kernels take these arrays.

    Parameters
    ----------
    first, *others : ndarray of any shape
        The floating-point arrays of one call.

    Returns
    -------
    bool
        True for C-contiguous arrays of NumPy that are all float32 or all float64, if
        :func:`~daskdl.kernels.jit.numba_is_used`. Anything else would be compiled once
        more for its layout or type, and run slowly.
    """
    return are_plain(first, *others) and numba_is_used()


def are_plain(*arrays: FloatArray) -> bool:
    """Return whether all are C-contiguous, NumPy's, and float32 or all float64.

    Arrays may be of any shape.
    """
    dtype = arrays[0].dtype
    if dtype not in _COMPILED_TYPES:
        return False
    # Asked by every call of every kernel: a generator would take twice as long.
    for array in arrays:
        if (
            type(array) is not np.ndarray
            or array.dtype != dtype
            or not array.flags.c_contiguous
        ):
            return False
    return True


def is_on_device(first: FloatArray, *others: FloatArray) -> bool:
    """Return whether kernels of a CUDA device take these arrays, of any shape.

    Parameters
    ----------
    first, *others : ndarray
        The floating-point arrays of one call, contiguous or not.

    Returns
    -------
    bool
        True for arrays of CuPy that are all float32 or all float64.
    """
    if type(first) is np.ndarray or first.dtype not in _COMPILED_TYPES:
        return False
    namespace = array_namespace(first)
    if not compiles_kernels(namespace):
        return False
    return all(
        array_namespace(other) is namespace and other.dtype == first.dtype
        for other in others
    )


def are_rows_on_device(first: FloatArray, *others: FloatArray) -> bool:
    """Return whether :func:`is_on_device` holds, and all arrays are C-contiguous."""
    arrays = (first, *others)
    return is_on_device(*arrays) and all(a.flags.c_contiguous for a in arrays)
