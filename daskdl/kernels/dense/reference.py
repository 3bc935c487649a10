"""The dense pair by the array library's own matrix product."""

from daskdl.arrays.namespace import FloatArray, array_namespace


def dense_forward(
    x: FloatArray, weight: FloatArray, bias: FloatArray | None, out: FloatArray
) -> FloatArray:
    """Compute what :func:`daskdl.kernels.dense.dense_forward` says."""
    array_namespace(x).matmul(x, weight, out=out)
    if bias is not None:
        out += bias
    return out


def dense_backward(
    grad_out: FloatArray,
    x: FloatArray,
    weight: FloatArray,
    grad_weight: FloatArray | None,
    grad_bias: FloatArray | None,
    grad_x: FloatArray | None,
) -> FloatArray | None:
    """Compute what :func:`daskdl.kernels.dense.dense_backward` says."""
    xp = array_namespace(x)
    if grad_weight is not None:
        xp.matmul(x.T, grad_out, out=grad_weight)
    if grad_bias is not None:
        xp.sum(grad_out, axis=0, out=grad_bias)
    if grad_x is not None:
        xp.matmul(grad_out, weight.T, out=grad_x)
    return grad_x
