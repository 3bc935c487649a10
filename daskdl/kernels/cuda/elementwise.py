"""What is done to each number of an output: a bias added, a rectifier."""

from daskdl.arrays.namespace import FloatArray
from daskdl.kernels.cuda.source import THREADS, CudaKernel, blocks_for

_MOST = (1 << 31) - THREADS
_ADD_BIAS = CudaKernel(
    "add_bias",
    """
extern "C" __global__ void add_bias(
    real* out, const real* bias, int n_out, int rectifies, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    real sum = out[i] + (bias ? bias[i % n_out] : (real)0);
    // What is no number stays none.
    out[i] = rectifies && sum < 0 ? (real)0 : sum;
}
""",
)


def add_bias(out: FloatArray, bias: FloatArray | None, *, rectifies: bool) -> None:
    """Add a bias to rows, and let what is below 0 become 0, in one pass.

    Parameters
    ----------
    out : ndarray of CuPy of shape (..., n_out)
        C-contiguous. Changed in place.
    bias : ndarray of shape (n_out,), same dtype, or None
    rectifies : bool
    """
    if bias is None and not rectifies:
        return
    n_out = out.shape[-1]
    rows = out.reshape(-1, n_out)
    # As many as an ``int`` counts, one launch as a rule.
    most = max(1, _MOST // n_out)
    for start in range(0, len(rows), most):
        part = rows[start : start + most]
        n = part.size
        _ADD_BIAS(blocks_for(n), THREADS, part, bias, n_out, rectifies, n)
