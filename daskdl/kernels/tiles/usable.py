"""Which arrays the register tiles work on."""

import functools
import importlib.util

import numpy as np

from daskdl.arrays.namespace import FloatArray
from daskdl.kernels.jit import compiled_is_wanted

_TYPES = (np.dtype(np.float32), np.dtype(np.float64))


def tiles_take(*arrays: FloatArray) -> bool:
    """Return whether arrays can be worked on by address.

    They must be NumPy's, C-contiguous, not empty, of one type, float32 or float64; and
    ``DASKDL_BACKEND_PRIORITY_CPU`` must not ask for NumPy's kernels.
    """
    dtype = arrays[0].dtype
    return (
        dtype in _TYPES
        and all(
            type(array) is np.ndarray
            and array.dtype == dtype
            and array.flags.c_contiguous
            and array.size > 0
            for array in arrays
        )
        and compiled_is_wanted()
        and _has_llvm()
    )


@functools.cache
def _has_llvm() -> bool:
    return importlib.util.find_spec("llvmlite") is not None
