"""How threads lie over the rows and columns of a matrix, and sums of its columns."""

from typing import Any, NamedTuple

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.kernels.cuda.source import THREADS, CudaKernel
from daskdl.kernels.dispatch import are_rows_on_device

# Of a block's threads those side by side take neighbouring columns, so that a warp
# reads whole lines; the others take rows in turn, several at once: that keeps as many
# bytes on their way as a device of 3 TB/s needs.
GRID = r"""
#define AT_ONCE 8
#define GRID_ARGUMENTS int rows, int columns, int lanes, int groups, int slab_rows
#define GRID_PLACE \
    const int lane = threadIdx.x % lanes, level = threadIdx.x / lanes; \
    const int levels = blockDim.x / lanes; \
    const int column = (int)(blockIdx.x % groups) * lanes + lane; \
    const int slab = blockIdx.x / groups; \
    const bool has_column = column < columns; \
    const int from = slab * slab_rows; \
    const int to = has_column ? min(rows - from, slab_rows) + from : from;

// Adds up what the threads over one column have; the first one gets it. In an order
// that is always the same.
template <class T>
__device__ T sum_of_levels(T value, T* shared, int lanes) {
    shared[threadIdx.x] = value;
    for (int half = blockDim.x / 2; half >= lanes; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) shared[threadIdx.x] += shared[threadIdx.x + half];
    }
    __syncthreads();
    T sum = shared[threadIdx.x % lanes];
    __syncthreads();
    return sum;
}
"""

_SUM = CudaKernel(
    "sum_columns",
    GRID
    + r"""
extern "C" __global__ void sum_columns(
    const real* __restrict__ x, GRID_ARGUMENTS, real divisor, real* __restrict__ out
) {
    GRID_PLACE
    __shared__ real shared[256];
    real sum = 0;
    for (int row = from + level; row < to; row += levels * AT_ONCE) {
        real values[AT_ONCE];
#pragma unroll
        for (int k = 0; k < AT_ONCE; ++k) {
            const int at = row + k * levels;
            values[k] = at < to ? x[(long long)at * columns + column] : (real)0;
        }
#pragma unroll
        for (int k = 0; k < AT_ONCE; ++k) sum += values[k];
    }
    sum = sum_of_levels(sum, shared, lanes);
    if (level == 0 && has_column)
        out[(long long)slab * columns + column] = sum / divisor;
}
""",
)

_WARP = 32
_AT_ONCE = 8
AT_A_TIME = 528
"""Blocks: four for each of the 132 processors of an H100."""
IN_TURN = 8 * AT_A_TIME
"""Blocks of which it does not matter how many there are: those that wait fill gaps."""
_MOST_ROWS = 1 << 30


class Grid(NamedTuple):
    """How the blocks of a kernel share a matrix.

    Parameters
    ----------
    lanes : int
        Threads side by side, a power of 2.
    groups, slabs : int
        Blocks side by side, and one above the other.
    slab_rows : int
        Rows of a slab.
    rows, columns : int
        Of the matrix.
    """

    lanes: int
    groups: int
    slabs: int
    slab_rows: int
    rows: int
    columns: int

    @property
    def blocks(self) -> int:
        """How many there are."""
        return self.groups * self.slabs

    @property
    def arguments(self) -> tuple[int, ...]:
        """What a kernel with ``GRID_ARGUMENTS`` takes in their place."""
        return self.rows, self.columns, self.lanes, self.groups, self.slab_rows


def grid_over(rows: int, columns: int, *, most: int = AT_A_TIME) -> Grid:
    """Share a matrix among blocks of :data:`~.source.THREADS` threads.

    Parameters
    ----------
    rows, columns : int
        At least 1.
    most : int
        Blocks, if there are not more next to each other already. With 1 each column
        belongs to one block.

    Returns
    -------
    Grid
    """
    lanes = min(_WARP, 1 << (columns - 1).bit_length())
    groups = -(-columns // lanes)
    a_turn = THREADS // lanes * _AT_ONCE
    slabs = max(1, min(-(-rows // a_turn), most // groups))
    slab_rows = -(-rows // slabs)
    return Grid(lanes, groups, -(-rows // slab_rows), slab_rows, rows, columns)


def grid_over_each(n: int, rows: int, columns: int) -> Grid:
    """Share `n` matrices, one after another, among blocks: each is a slab.

    Parameters
    ----------
    n, rows, columns : int
        At least 1.

    Returns
    -------
    Grid
    """
    side = grid_over(rows, columns, most=1)
    return side._replace(slabs=n, slab_rows=rows, rows=n * rows)


def takes_rows(first: FloatArray, *others: FloatArray) -> bool:
    """Return whether kernels over a :class:`Grid` take matrices of any shape.

    Those of :func:`~daskdl.kernels.dispatch.are_rows_on_device` that are not empty and
    have not more rows than an ``int`` counts.
    """
    if not are_rows_on_device(first, *others):
        return False
    return first.size > 0 and first.size // first.shape[-1] < _MOST_ROWS


def sum_rows(x: FloatArray, *, out: FloatArray) -> FloatArray:
    """Compute the sum of the rows of a matrix, in the same order in each run.

    Parameters
    ----------
    x : ndarray of CuPy of shape (rows, n)
        That :func:`takes_rows` holds for. Not changed.
    out : ndarray of shape (n,), same dtype
        C-contiguous. Overwritten.

    Returns
    -------
    out : ndarray
        The array that was given.
    """
    grid = grid_over(*x.shape)
    if grid.slabs == 1:
        _SUM(grid.blocks, THREADS, x, *grid.arguments, 1.0, out)
        return out
    partial: Any = array_namespace(x).empty((grid.slabs, x.shape[1]), x.dtype)
    _SUM(grid.blocks, THREADS, x, *grid.arguments, 1.0, partial)
    last = grid_over(*partial.shape, most=1)
    _SUM(last.blocks, THREADS, partial, *last.arguments, 1.0, out)
    return out


def sum_rows_of_each(x: FloatArray, divisor: float, *, out: FloatArray) -> FloatArray:
    """Compute the sum of the rows of several matrices, and divide it.

    Parameters
    ----------
    x : ndarray of CuPy of shape (matrices, rows, n)
        That :func:`takes_rows` holds for. Not changed.
    divisor : float
        Of every sum.
    out : ndarray of shape (matrices, n), same dtype
        C-contiguous. Overwritten.

    Returns
    -------
    out : ndarray
        The array that was given.
    """
    grid = grid_over_each(*x.shape)
    _SUM(grid.blocks, THREADS, x, *grid.arguments, float(divisor), out)
    return out
