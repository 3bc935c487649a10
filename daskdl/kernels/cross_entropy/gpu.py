"""The cross entropy on a CUDA device: a warp a row."""

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.kernels.activation.gpu import ROWS, blocks_for_rows, takes
from daskdl.kernels.cuda.source import THREADS, CudaKernel

__all__ = ["cross_entropy_rows", "softmax_gradient", "takes"]

_ROWS = CudaKernel(
    "cross_entropy_rows",
    ROWS
    + r"""
extern "C" __global__ void cross_entropy_rows(
    const real* __restrict__ labels, const real* __restrict__ output, int rows, int n,
    real low, real high, real* __restrict__ out
) {
    EACH_ROW {
        const long long at = (long long)row * n;
        real score = 0;
        for (int k = lane; k < n; k += 32) {
            const real label = labels[at + k];
            real p = output[at + k];
            // Labels are mostly 0: then only a NaN is to be seen.
            if (label == 0 && p == p) continue;
            p = p < low ? low : p;
            p = p > high ? high : p;
            score += label * log(p);
        }
        score = sum_of_warp(score);
        if (lane == 0) out[row] = -score;
    }
}
""",
)

_GRADIENT = CudaKernel(
    "softmax_gradient",
    ROWS
    + r"""
extern "C" __global__ void softmax_gradient(
    const real* labels, const real* output, int rows, int n, real* out
) {
    EACH_ROW {
        const long long at = (long long)row * n;
        real sum = 0;
        for (int k = lane; k < n; k += 32) sum += labels[at + k];
        sum = sum_of_warp(sum);
        for (int k = lane; k < n; k += 32)
            out[at + k] = output[at + k] * sum - labels[at + k];
    }
}
""",
)


def cross_entropy_rows(
    labels: FloatArray, output: FloatArray, low: float, high: float
) -> FloatArray:
    """Return the cross entropy of each row, of shape (rows,)."""
    rows, n = output.shape
    out: FloatArray = array_namespace(output).empty(rows, output.dtype)
    clips = (float(low), float(high))
    _ROWS(blocks_for_rows(rows), THREADS, labels, output, rows, n, *clips, out)
    return out


def softmax_gradient(labels: FloatArray, output: FloatArray, out: FloatArray) -> None:
    """Overwrite `out`, of shape (rows, n_out), with the gradient of the softmax."""
    rows, n = output.shape
    _GRADIENT(blocks_for_rows(rows), THREADS, labels, output, rows, n, out)
