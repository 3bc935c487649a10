"""Kernels in CUDA C, compiled by CuPy for the type of their arrays."""

import functools
from typing import Any

import numpy as np

from daskdl.arrays.namespace import FloatArray, array_namespace

THREADS = 256
"""Of a block, where nothing speaks for another number."""

# More than that a kernel must be allowed to ask for.
_SHARED_BYTES = 48 << 10

_C_NAMES = {"float32": "float", "float64": "double"}


class CudaKernel:
    """A function of CUDA C.

    Parameters
    ----------
    name : str
        Of the function, which is ``extern "C" __global__``.
    source : str
        In which ``real`` is the type of the floating-point arrays. Integers are
        ``int``, and what may be missing is a pointer that is 0.
    is_cooperative : bool
        Whether its blocks wait for each other: then a launch runs them all at the same
        time, or fails.
    """

    def __init__(self, name: str, source: str, *, is_cooperative: bool = False) -> None:
        self._name = name
        self._source = source
        self._is_cooperative = is_cooperative

    def __call__(
        self, blocks: int, threads: int, first: FloatArray, *args: Any, shared: int = 0
    ) -> None:
        """Launch it on the current stream.

        Parameters
        ----------
        blocks, threads : int
            Blocks, and threads of a block. No blocks do nothing.
        first : ndarray of CuPy, float32 or float64
            The first argument, which gives the type.
        *args : ndarray of CuPy, int, float or None
            The others. Floats are handed over in the type of `first`.
        shared : int
            Bytes of shared memory that a block asks for.
        """
        if blocks == 0:
            return
        real = first.dtype.type
        handed = [first, *(_handed(value, real) for value in args)]
        kernel = _compiled(
            array_namespace(first),
            self._source,
            self._name,
            first.dtype.name,
            self._is_cooperative,
        )
        if shared > _SHARED_BYTES:
            kernel.max_dynamic_shared_size_bytes = shared
        kernel((blocks,), (threads,), handed, shared_mem=shared)


def blocks_for(n: int, threads: int = THREADS) -> int:
    """Return how many blocks have a thread for each of `n` elements."""
    return -(-n // threads)


@functools.cache
def _compiled(
    cupy: Any, source: str, name: str, real: str, is_cooperative: bool
) -> Any:
    text = f"typedef {_C_NAMES[real]} real;\n{source}"
    # CuPy launches so what it calls cooperative groups, whether used or not.
    return cupy.RawKernel(text, name, enable_cooperative_groups=is_cooperative)


def _handed(value: Any, real: Any) -> Any:
    if value is None:
        return np.intp(0)
    if isinstance(value, bool | int):
        return np.int32(value)
    return real(value) if isinstance(value, float) else value
