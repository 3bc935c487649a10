"""Matrices with rows and columns changed."""

from typing import Any

from daskdl.arrays.namespace import FloatArray
from daskdl.kernels.cuda.source import CudaKernel

_SIDE = 32
_TRANSPOSE = CudaKernel(
    "transpose",
    """
extern "C" __global__ void transpose(
    real* out, const real* x, int rows, int columns, int tiles_across)
{
    // One column more, so that a warp reads 32 banks where it reads down.
    __shared__ real tile[32][33];
    int left = blockIdx.x % tiles_across * 32, top = blockIdx.x / tiles_across * 32;
    int along = threadIdx.x % 32, down = threadIdx.x / 32;
    for (int k = down; k < 32; k += 8)
        if (top + k < rows && left + along < columns)
            tile[k][along] = x[(size_t)(top + k) * columns + left + along];
    __syncthreads();
    for (int k = down; k < 32; k += 8)
        if (left + k < columns && top + along < rows)
            out[(size_t)(left + k) * rows + top + along] = tile[along][k];
}
""",
)


def transpose(x: FloatArray, *, out: Any) -> Any:
    """Copy a matrix so that its columns are contiguous.

    Parameters
    ----------
    x : ndarray of CuPy of shape (rows, columns)
        C-contiguous. Not changed.
    out : ndarray of CuPy of shape (columns, rows), same dtype
        C-contiguous. Overwritten.
    """
    rows, columns = x.shape
    down, across = -(-rows // _SIDE), -(-columns // _SIDE)
    _TRANSPOSE(down * across, 256, out, x, rows, columns, across)
    return out
