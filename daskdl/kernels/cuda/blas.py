"""Matrix products by cuBLAS.

Not by CuPy, which refuses them while a graph is captured.
"""

import ctypes
import threading
from typing import Any

import numpy as np

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.kernels.cuda.libraries import check, is_here, library, pointer, uses_tf32

# What cuBLAS itself takes on recent devices; given by us, a captured graph keeps it.
_WORKSPACE_BYTES = 32 << 20
_TF32 = 3
_GEMM = {"float32": "cublasSgemm_v2", "float64": "cublasDgemm_v2"}
_REALS = {"float32": ctypes.c_float, "float64": ctypes.c_double}


class _Handle(threading.local):
    """cuBLAS of this thread."""

    def __init__(self) -> None:
        self.handle = ctypes.c_void_p()
        self.workspace: Any = None

    def on(self, cublas: ctypes.CDLL, cupy: Any) -> ctypes.c_void_p:
        """Return a handle that works on the current stream."""
        if self.workspace is None:
            check(cublas.cublasCreate_v2(ctypes.byref(self.handle)), "cublasCreate")
            self.workspace = cupy.empty(_WORKSPACE_BYTES, np.uint8)
            if uses_tf32():
                check(cublas.cublasSetMathMode(self.handle, _TF32), "cublasSetMathMode")
        stream = ctypes.c_void_p(cupy.cuda.get_current_stream().ptr)
        check(cublas.cublasSetStream_v2(self.handle, stream), "cublasSetStream")
        # Another stream has made cuBLAS forget it.
        size = ctypes.c_size_t(_WORKSPACE_BYTES)
        place = pointer(self.workspace)
        status = cublas.cublasSetWorkspace_v2(self.handle, place, size)
        check(status, "cublasSetWorkspace")
        return self.handle


_handle = _Handle()


def can_multiply(*arrays: FloatArray) -> bool:
    """Return whether :func:`multiply` takes matrices: whole rows or whole columns."""
    if not is_here("cublas"):
        return False
    return all(array.ndim == 2 and _layout(array) is not None for array in arrays)


def multiply(a: FloatArray, b: FloatArray, *, adds: bool = False, out: Any) -> Any:
    """Compute ``a @ b``, or add it to `out`.

    Parameters
    ----------
    a, b : ndarray of CuPy of shape (m, k) and (k, n), float32 or float64
        Whose rows, or columns, are contiguous each. Not changed.
    adds : bool
        Whether to add to what is there.
    out : ndarray of CuPy of shape (m, n), same dtype
        Whose rows are contiguous each.

    Returns
    -------
    out : ndarray
    """
    (m, k), n = a.shape, b.shape[1]
    if m == 0 or n == 0:
        return out
    cublas, name = library("cublas"), out.dtype.name
    handle = _handle.on(cublas, array_namespace(out))
    one, rest = _REALS[name](1), _REALS[name](1 if adds else 0)
    # In columns, as BLAS counts, the product is that of the transposed.
    (b_turned, b_step), (a_turned, a_step) = _layout(b), _layout(a)  # type: ignore[misc]
    _, out_step = _layout(out)  # type: ignore[misc]
    call = _GEMM[name]
    status = getattr(cublas, call)(
        *(handle, b_turned, a_turned, n, m, k, ctypes.byref(one)),
        *(pointer(b), b_step, pointer(a), a_step),
        *(ctypes.byref(rest), pointer(out), out_step),
    )
    check(status, call)
    return out


def _layout(array: FloatArray) -> tuple[int, int] | None:
    """Return whether a matrix lies by columns, and the step between those or rows."""
    rows, columns = array.shape
    down, along = (stride // array.itemsize for stride in array.strides)
    if (along == 1 or columns == 1) and (down >= columns or rows == 1):
        return 0, max(down if rows > 1 else 0, columns, 1)
    if (down == 1 or rows == 1) and (along >= rows or columns == 1):
        return 1, max(along if columns > 1 else 0, rows, 1)
    return None
