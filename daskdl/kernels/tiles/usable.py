"""Which arrays the register tiles work on, and where these are."""

import functools
import importlib.util

from daskdl.arrays.namespace import FloatArray
from daskdl.kernels.dispatch import are_plain
from daskdl.kernels.jit import compiled_is_wanted


def tiles_take(*arrays: FloatArray) -> bool:
    """Return whether arrays, of any shape, can be worked on by address.

    They must be NumPy's, C-contiguous, not empty, of one type, float32 or float64; and
    ``DASKDL_BACKEND_PRIORITY_CPU`` must not ask for NumPy's kernels.
    """
    return (
        are_plain(*arrays)
        and all(array.size for array in arrays)
        and compiled_is_wanted()
        and _has_llvm()
    )


def addresses_of(*arrays: FloatArray | None) -> list[int]:
    """Return the memory addresses of arrays of any shape; 0 for None."""
    return [0 if array is None else array.ctypes.data for array in arrays]


@functools.cache
def _has_llvm() -> bool:
    return importlib.util.find_spec("llvmlite") is not None
