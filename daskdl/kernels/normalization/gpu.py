"""Batch normalization on a CUDA device.

The statistics take one read of the rows: each thread has a few of a column at once,
finds their mean and squares, and joins them to those before. Then threads are joined,
and blocks. Nothing depends on which of them comes first.

References
----------
Chan, Golub and LeVeque, *Updating Formulae and a Pairwise Algorithm for Computing
Sample Variances*, 1979, equation 1.5.
"""

from typing import Any

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.kernels.cuda.columns import GRID, IN_TURN, grid_over, takes_rows
from daskdl.kernels.cuda.source import THREADS, CudaKernel, blocks_for
from daskdl.kernels.normalization.gpu_sources import (
    GRADIENT_SUMS,
    JOIN_GRADIENT_SUMS,
    JOIN_MOMENTS,
    MOMENTS,
    NORMALIZE,
    SCALE,
    SPREAD,
)

_MOMENTS = CudaKernel("moments", GRID + MOMENTS)
_JOIN_MOMENTS = CudaKernel("join_moments", GRID + JOIN_MOMENTS)
_NORMALIZE = CudaKernel("normalize", GRID + SCALE + NORMALIZE)
_GRADIENT_SUMS = CudaKernel("gradient_sums", GRID + SCALE + GRADIENT_SUMS)
_JOIN_SUMS = CudaKernel("join_gradient_sums", GRID + JOIN_GRADIENT_SUMS)
_SPREAD = CudaKernel("spread_gradient", GRID + SCALE + SPREAD)

_MOVED_ON = CudaKernel(
    "moved_on",
    """
extern "C" __global__ void moved_on(
    real* grad_mean, real* grad_spread, const real* running_mean,
    const real* running_spread, const real* mean, const real* variance, real decay,
    int is_logarithm, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const real rest = 1 - decay;
    grad_mean[i] = rest * (running_mean[i] - mean[i]);
    if (!is_logarithm) {
        grad_spread[i] = rest * (running_spread[i] - variance[i]);
        return;
    }
    const real deviation = pow((real)10, running_spread[i]);
    const real before = deviation * deviation;
    const real after = decay * before + rest * variance[i];
    grad_spread[i] = log(before / after) / (real)4.605170185988092;
}
""",
)

_Scale = FloatArray | float


def takes(*arrays: FloatArray | float | None) -> bool:
    """Return whether the functions here take arrays of any shape, or numbers."""
    first, *others = (a for a in arrays if a is not None and not _is_number(a))
    return takes_rows(first, *others)  # type: ignore[arg-type]


def moments(x: FloatArray, mean: FloatArray, variance: FloatArray) -> None:
    """Overwrite `mean` and `variance` of shape (n,) with those of (rows, n)."""
    grid = grid_over(*x.shape)
    if grid.slabs == 1:
        _MOMENTS(grid.blocks, THREADS, x, *grid.arguments, 1, mean, variance)
        return
    shape = (2, grid.slabs, x.shape[1])
    means, squares = partial = array_namespace(x).empty(shape, x.dtype)
    _MOMENTS(grid.blocks, THREADS, x, *grid.arguments, 0, means, squares)
    last = grid_over(*partial.shape[1:], most=1)
    _JOIN_MOMENTS(
        last.blocks,
        _threads_over(last.rows, last.lanes),
        x,
        *last.arguments,
        *(grid.slab_rows, len(x), means, squares, mean, variance),
    )


def normalize(
    x: FloatArray,
    gamma: _Scale,
    beta: _Scale,
    eps: float,
    mean: FloatArray,
    variance: FloatArray,
    out: FloatArray,
    rectifies: bool,
) -> None:
    """Overwrite `out` of shape (rows, n) as :func:`..batch_norm_inference` says."""
    grid = grid_over(*x.shape, most=IN_TURN)
    scale = _scale(mean, variance, gamma, beta, eps)
    _NORMALIZE(grid.blocks, THREADS, x, *grid.arguments, *scale, rectifies, out)


def batch_norm_backward(
    grad_out: FloatArray,
    x: FloatArray,
    mean: FloatArray,
    variance: FloatArray,
    grad_gamma: FloatArray,
    grad_beta: FloatArray,
    grad_x: FloatArray,
    gamma: _Scale,
    eps: float,
    rectified_beta: _Scale | None,
    *,
    is_inference: bool = False,
) -> None:
    """Overwrite the gradients as :func:`..batch_norm_backward` says, shapes included.

    Or as its sibling of inference says, whose statistics have no gradient.
    """
    grid, rectified = grid_over(*x.shape), rectified_beta is not None
    beta = 0.0 if rectified_beta is None else rectified_beta
    scale = _scale(mean, variance, gamma, beta, eps)
    passed = (grad_out, x, *grid.arguments, *scale, rectified)
    sums = (grad_gamma, grad_beta)
    if grid.slabs == 1:
        _GRADIENT_SUMS(grid.blocks, THREADS, *passed, 1, *sums)
    else:
        shape = (2, grid.slabs, x.shape[1])
        partial = array_namespace(x).empty(shape, x.dtype)
        _GRADIENT_SUMS(grid.blocks, THREADS, *passed, 0, partial[0], partial[1])
        last = grid_over(*shape[1:], most=1)
        _JOIN_SUMS(
            last.blocks,
            _threads_over(last.rows, last.lanes),
            *(partial[0], partial[1], *last.arguments, variance, float(eps), *sums),
        )
    grid = grid_over(*x.shape, most=IN_TURN)
    passed = (grad_out, x, *grid.arguments, *scale, rectified)
    _SPREAD(grid.blocks, THREADS, *passed, is_inference, *sums, grad_x)


def moved_on(
    running: tuple[FloatArray, FloatArray],
    mean: FloatArray,
    variance: FloatArray,
    decay: float,
    *,
    is_logarithm: bool,
    out: tuple[FloatArray, FloatArray],
) -> None:
    """Write what moves running statistics towards those of a minibatch.

    All arrays are of shape (n,) and one type.

    Parameters
    ----------
    running : pair of ndarray of CuPy
        Mean, and variance or ``log10`` of the deviation.
    mean, variance : ndarray of CuPy
        Of the minibatch.
    decay : float
        Share of the old ones that is kept.
    is_logarithm : bool
        Whether the second one is ``log10`` of the deviation.
    out : pair of ndarray of CuPy
        Overwritten with what is subtracted from `running`.
    """
    n = mean.size
    _MOVED_ON(
        *(blocks_for(n), THREADS, *out, *running, mean, variance),
        *(float(decay), is_logarithm, n),
    )


def _threads_over(rows: int, lanes: int) -> int:
    """Return how many threads a block needs, so that none has many rows."""
    return 1024 if rows * lanes > 4 * THREADS else THREADS


def _scale(
    mean: FloatArray, variance: FloatArray, gamma: _Scale, beta: _Scale, eps: float
) -> tuple[Any, ...]:
    """Return what a kernel with ``SCALE_ARGUMENTS`` takes in their place."""
    scales: list[Any] = []
    for value in (gamma, beta):
        scales += [None, float(value)] if _is_number(value) else [value, 0.0]
    return mean, variance, *scales, float(eps)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float)
