"""The rectifier with a learned slope by whole-array expressions."""

from daskdl.arrays.namespace import FloatArray, array_namespace


def prelu_forward(x: FloatArray, slope: FloatArray, out: FloatArray) -> FloatArray:
    """Compute what :func:`daskdl.kernels.prelu.prelu_forward` says."""
    xp = array_namespace(x)
    xp.multiply(x, slope, out=out)
    xp.copyto(out, x, where=x >= 0)
    return out


def prelu_backward(
    grad_out: FloatArray,
    x: FloatArray,
    slope: FloatArray,
    grad_slope: FloatArray,
    grad_x: FloatArray,
) -> FloatArray:
    """Compute what :func:`daskdl.kernels.prelu.prelu_backward` says."""
    xp = array_namespace(x)
    is_passed = x >= 0
    xp.multiply(grad_out, x, out=grad_x)
    xp.copyto(grad_x, 0, where=is_passed)
    sums = xp.sum(grad_x, axis=0)
    shared = tuple(axis for axis, n in enumerate(slope.shape) if n == 1)
    grad_slope[...] = xp.sum(sums, axis=shared, keepdims=True) if shared else sums
    xp.multiply(grad_out, slope, out=grad_x)
    xp.copyto(grad_x, grad_out, where=is_passed)
    return grad_x
