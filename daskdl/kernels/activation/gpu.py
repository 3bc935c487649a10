"""Activations and their gradients on a CUDA device, a launch each.

Where arrays are asked for they are those of the functions of :mod:`..activation`.
"""

import numpy as np

from daskdl.arrays.namespace import FloatArray
from daskdl.kernels.cuda.source import THREADS, CudaKernel, blocks_for
from daskdl.kernels.dispatch import are_rows_on_device

_AT_ONCE = 4
_WARPS = 8
# Of a grid; with more rows, or elements, its blocks take several.
_MOST_BLOCKS = 1 << 20

# `out` may be what is read: a thread reads all it takes before it writes.
_ELEMENTS = r"""
#define AT_ONCE 4
__device__ real leaky(real a, real slope) {
    const real b = a * slope;
    if (a != a || b != b) return a + b;
    return (slope > 1) == (a < b) ? a : b;
}
extern "C" __global__ void elements(
    const real* first, const real* second, real slope, long long n, real* out
) {
    const long long step = (long long)blockDim.x * AT_ONCE;
    for (long long block = blockIdx.x; block * step < n; block += gridDim.x) {
        const long long from = block * step + threadIdx.x;
        real a[AT_ONCE], b[AT_ONCE];
#pragma unroll
        for (int k = 0; k < AT_ONCE; ++k) {
            const long long at = from + k * blockDim.x;
            a[k] = at < n ? first[at] : (real)0;
            b[k] = at < n && second ? second[at] : (real)0;
        }
#pragma unroll
        for (int k = 0; k < AT_ONCE; ++k) {
            const long long at = from + k * blockDim.x;
            if (at < n) out[at] = FORMULA;
        }
    }
}
"""


def _elementwise(formula: str) -> CudaKernel:
    """Return a kernel of ``a[k]``, ``b[k]`` and ``slope``."""
    return CudaKernel("elements", _ELEMENTS.replace("FORMULA", formula))


_RELU_BACKWARD = _elementwise("a[k] * (b[k] > 0 ? (real)1 : (real)0)")
_LEAKY_RELU = _elementwise("leaky(a[k], slope)")
_LEAKY_RELU_BACKWARD = _elementwise("a[k] * (b[k] >= 0 ? (real)1 : slope)")
_SIGMOID_BACKWARD = _elementwise("a[k] * ((1 - b[k]) * b[k])")
_TANH_BACKWARD = _elementwise("a[k] * (1 - b[k] * b[k])")
_ADD_RELU = _elementwise("a[k] + b[k] < 0 ? (real)0 : a[k] + b[k]")

ROWS = r"""
// A warp has a row; all its threads get what they sum up, in the same order each time.
__device__ real sum_of_warp(real value) {
    for (int step = 16; step; step /= 2)
        value += __shfl_xor_sync(0xffffffffu, value, step);
    return value;
}
__device__ real larger(real a, real b) { return a > b || a != a ? a : b; }
__device__ real largest_of_warp(real value) {
    for (int step = 16; step; step /= 2)
        value = larger(value, __shfl_xor_sync(0xffffffffu, value, step));
    return value;
}
#define EACH_ROW \
    const int lane = threadIdx.x % 32; \
    const int warps = gridDim.x * (blockDim.x / 32); \
    for (int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; row < rows; \
         row += warps)
"""
"""What kernels of a warp a row share."""

_SOFTMAX = CudaKernel(
    "softmax",
    ROWS
    + r"""
extern "C" __global__ void softmax(const real* x, int rows, int n, real* out) {
    EACH_ROW {
        const real* from = x + (long long)row * n;
        real* to = out + (long long)row * n;
        real largest = -(real)__int_as_float(0x7f800000);
        for (int k = lane; k < n; k += 32) largest = larger(from[k], largest);
        largest = largest_of_warp(largest);
        real sum = 0;
        for (int k = lane; k < n; k += 32) {
            const real power = exp(from[k] - largest);
            to[k] = power;
            sum += power;
        }
        sum = sum_of_warp(sum);
        for (int k = lane; k < n; k += 32) to[k] /= sum;
    }
}
""",
)

_SOFTMAX_BACKWARD = CudaKernel(
    "softmax_backward",
    ROWS
    + r"""
extern "C" __global__ void softmax_backward(
    const real* grad, const real* output, int rows, int n, real* out
) {
    EACH_ROW {
        const long long at = (long long)row * n;
        real mean = 0;
        for (int k = lane; k < n; k += 32) mean += grad[at + k] * output[at + k];
        mean = sum_of_warp(mean);
        for (int k = lane; k < n; k += 32)
            out[at + k] = (grad[at + k] - mean) * output[at + k];
    }
}
""",
)


def takes(first: FloatArray, *others: FloatArray) -> bool:
    """Return whether the functions here take arrays of any shape: with something in."""
    return first.size > 0 and are_rows_on_device(first, *others)


def relu_backward(grad_out: FloatArray, output: FloatArray, out: FloatArray) -> None:
    """Overwrite `out`, of any shape, with the gradient of a rectifier."""
    _run(_RELU_BACKWARD, grad_out, output, 0.0, out)


def leaky_relu(x: FloatArray, alpha: float, out: FloatArray) -> None:
    """Overwrite `out`, of any shape, with a leaky rectifier of slope `alpha`."""
    _run(_LEAKY_RELU, x, None, float(alpha), out)


def leaky_relu_backward(
    grad_out: FloatArray, sign: FloatArray, alpha: float, out: FloatArray
) -> None:
    """Overwrite `out`, of any shape, with the gradient of :func:`leaky_relu`."""
    _run(_LEAKY_RELU_BACKWARD, grad_out, sign, float(alpha), out)


def sigmoid_backward(grad_out: FloatArray, output: FloatArray, out: FloatArray) -> None:
    """Overwrite `out`, of any shape, with the gradient of a sigmoid."""
    _run(_SIGMOID_BACKWARD, grad_out, output, 0.0, out)


def tanh_backward(grad_out: FloatArray, output: FloatArray, out: FloatArray) -> None:
    """Overwrite `out`, of any shape, with the gradient of a hyperbolic tangent."""
    _run(_TANH_BACKWARD, grad_out, output, 0.0, out)


def add_relu(first: FloatArray, second: FloatArray, out: FloatArray) -> None:
    """Overwrite `out`, of any shape, with the rectified sum of two like it."""
    _run(_ADD_RELU, first, second, 0.0, out)


def softmax(x: FloatArray, out: FloatArray) -> None:
    """Overwrite `out`, of shape (..., n), with the softmax along the last axis."""
    n = x.shape[-1]
    _SOFTMAX(blocks_for_rows(x.size // n), THREADS, x, x.size // n, n, out)


def softmax_backward(grad_out: FloatArray, output: FloatArray, out: FloatArray) -> None:
    """Overwrite `out`, of shape (..., n), with the gradient of :func:`softmax`."""
    n = out.shape[-1]
    rows = out.size // n
    blocks = blocks_for_rows(rows)
    _SOFTMAX_BACKWARD(blocks, THREADS, grad_out, output, rows, n, out)


def blocks_for_rows(rows: int) -> int:
    """Return how many blocks have a warp for each row."""
    return min(_MOST_BLOCKS, blocks_for(rows, _WARPS))


def _run(
    kernel: CudaKernel,
    first: FloatArray,
    second: FloatArray | None,
    slope: float,
    out: FloatArray,
) -> None:
    blocks = min(_MOST_BLOCKS, blocks_for(out.size, THREADS * _AT_ONCE))
    kernel(blocks, THREADS, first, second, slope, np.int64(out.size), out)
