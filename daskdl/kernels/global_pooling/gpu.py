"""Global pooling on a CUDA device, without a mask: a launch each way."""

from typing import Any

from numpy.typing import NDArray

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.kernels.cuda.columns import (
    GRID,
    grid_over_each,
    sum_rows_of_each,
    takes_rows,
)
from daskdl.kernels.cuda.source import THREADS, CudaKernel

# A slab is an example. NaN is larger than all, and the first of equals wins.
_MAX_FORWARD = CudaKernel(
    "global_max_forward",
    GRID
    + r"""
extern "C" __global__ void global_max_forward(
    const real* __restrict__ x, GRID_ARGUMENTS, long long* __restrict__ winner,
    real* __restrict__ out
) {
    GRID_PLACE
    __shared__ real values[256];
    __shared__ int places[256];
    real best = 0;
    int won = -1;
    for (int row = from + level; row < to; row += levels) {
        const real value = x[(long long)row * columns + column];
        if (won < 0 || (best == best && !(value <= best))) {
            best = value;
            won = row - from;
        }
    }
    const int me = threadIdx.x;
    values[me] = best;
    places[me] = won;
    for (int half = blockDim.x / 2; half >= lanes; half /= 2) {
        __syncthreads();
        if (me < half && places[me + half] >= 0) {
            const real a = values[me], b = values[me + half];
            const bool is_equal = a == b || (a != a && b != b);
            const bool is_less = a == a && !(b <= a);
            if (is_equal ? places[me + half] < places[me] : is_less) {
                values[me] = b;
                places[me] = places[me + half];
            }
        }
    }
    if (level == 0 && has_column) {
        const long long at = (long long)slab * columns + column;
        out[at] = values[me];
        winner[at] = places[me];
    }
}
""",
)

# Of sums without winners: each cell gets as much.
_BACKWARD = CudaKernel(
    "global_backward",
    GRID
    + r"""
extern "C" __global__ void global_backward(
    const real* __restrict__ grad_out, GRID_ARGUMENTS,
    const long long* __restrict__ winner, real divisor, real* __restrict__ grad_x
) {
    GRID_PLACE
    if (!has_column) return;
    const long long at = (long long)slab * columns + column;
    const real share = grad_out[at] / divisor;
    const int won = winner ? (int)winner[at] + from : 0;
    for (int row = from + level; row < to; row += levels)
        grad_x[(long long)row * columns + column] =
            !winner || row == won ? share : (real)0;
}
""",
)


def takes(
    first: FloatArray,
    mask: FloatArray | None,
    other: FloatArray,
    winner: NDArray[Any] | None = None,
) -> bool:
    """Return whether the functions here take arrays of any shape; not with a mask."""
    if mask is not None or not takes_rows(first, other) or not takes_rows(other):
        return False
    return winner is None or (
        winner.dtype.itemsize == 8
        and winner.flags.c_contiguous
        and array_namespace(winner) is array_namespace(first)
    )


def max_forward(x: FloatArray, out: FloatArray, winner: NDArray[Any]) -> None:
    """Overwrite `out` and `winner`, of shape (batch, channels), with the maxima."""
    grid = grid_over_each(*x.shape)
    _MAX_FORWARD(grid.blocks, THREADS, x, *grid.arguments, winner, out)


def max_backward(
    grad_out: FloatArray, winner: NDArray[Any], grad_x: FloatArray
) -> None:
    """Overwrite `grad_x`, of shape (batch, cells, channels): each winner gets all."""
    grid = grid_over_each(*grad_x.shape)
    _BACKWARD(grid.blocks, THREADS, grad_out, *grid.arguments, winner, 1.0, grad_x)


def mean_forward(x: FloatArray, divisor: int, out: FloatArray) -> None:
    """Overwrite `out`, of shape (batch, channels), with the sum of cells, divided."""
    sum_rows_of_each(x, divisor, out=out)


def mean_backward(grad_out: FloatArray, divisor: int, grad_x: FloatArray) -> None:
    """Overwrite `grad_x`, of shape (batch, cells, channels), with the gradient."""
    grid, share = grid_over_each(*grad_x.shape), float(divisor)
    _BACKWARD(grid.blocks, THREADS, grad_out, *grid.arguments, None, share, grad_x)
