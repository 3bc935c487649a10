"""Batch and layer normalization by whole-array expressions."""

from daskdl.arrays.namespace import FloatArray, array_namespace


def batch_norm_forward(
    x: FloatArray,
    gamma: FloatArray | float,
    beta: FloatArray | float,
    eps: float,
    mean: FloatArray,
    variance: FloatArray,
    out: FloatArray,
    *,
    rectifies: bool = False,
) -> FloatArray:
    """Compute what :func:`daskdl.kernels.normalization.batch_norm_forward` says."""
    xp = array_namespace(x)
    xp.mean(x, axis=0, out=mean)
    xp.subtract(x, mean, out=out)
    # Two passes: E[x^2] - E[x]^2 in float32 loses the variance of a large mean.
    xp.mean(out * out, axis=0, out=variance)
    return _scale_and_shift(gamma, beta, eps, variance, out, rectifies=rectifies)


def batch_norm_inference(
    x: FloatArray,
    gamma: FloatArray | float,
    beta: FloatArray | float,
    eps: float,
    mean: FloatArray,
    variance: FloatArray,
    out: FloatArray,
    *,
    rectifies: bool = False,
) -> FloatArray:
    """Compute what :func:`daskdl.kernels.normalization.batch_norm_inference` says."""
    xp = array_namespace(x)
    xp.subtract(x, mean, out=out)
    return _scale_and_shift(gamma, beta, eps, variance, out, rectifies=rectifies)


def batch_norm_backward(
    grad_out: FloatArray,
    x: FloatArray,
    gamma: FloatArray | float,
    eps: float,
    mean: FloatArray,
    variance: FloatArray,
    grad_gamma: FloatArray,
    grad_beta: FloatArray,
    grad_x: FloatArray,
    *,
    rectified_beta: FloatArray | float | None = None,
) -> FloatArray:
    """Compute what :func:`daskdl.kernels.normalization.batch_norm_backward` says."""
    xp = array_namespace(grad_out)
    if rectified_beta is not None:
        xp.subtract(x, mean, out=grad_x)
        moved = _scale_and_shift(gamma, rectified_beta, eps, variance, grad_x)
        grad_out = grad_out * (moved > 0)
    rows = grad_out.shape[0]
    deviation = xp.sqrt(variance + eps)
    _sum_gradients(grad_out, x, mean, deviation, grad_gamma, grad_beta, grad_x)
    xp.subtract(x, mean, out=grad_x)
    grad_x *= grad_gamma / (-rows * deviation)
    grad_x += grad_out
    grad_x -= grad_beta / rows
    grad_x *= gamma / deviation
    return grad_x


def batch_norm_inference_backward(
    grad_out: FloatArray,
    x: FloatArray,
    gamma: FloatArray | float,
    eps: float,
    mean: FloatArray,
    variance: FloatArray,
    grad_gamma: FloatArray,
    grad_beta: FloatArray,
    grad_x: FloatArray,
) -> FloatArray:
    """See :func:`daskdl.kernels.normalization.batch_norm_inference_backward`."""
    xp = array_namespace(grad_out)
    deviation = xp.sqrt(variance + eps)
    _sum_gradients(grad_out, x, mean, deviation, grad_gamma, grad_beta, grad_x)
    xp.multiply(grad_out, gamma / deviation, out=grad_x)
    return grad_x


def _scale_and_shift(
    gamma: FloatArray | float,
    beta: FloatArray | float,
    eps: float,
    variance: FloatArray,
    out: FloatArray,
    *,
    rectifies: bool = False,
) -> FloatArray:
    xp = array_namespace(out)
    out *= gamma / xp.sqrt(variance + eps)
    out += beta
    if rectifies:
        xp.maximum(out, 0, out=out)
    return out


def _sum_gradients(
    grad_out: FloatArray,
    x: FloatArray,
    mean: FloatArray,
    deviation: FloatArray,
    grad_gamma: FloatArray,
    grad_beta: FloatArray,
    scratch: FloatArray,
) -> None:
    xp = array_namespace(grad_out)
    xp.sum(grad_out, axis=0, out=grad_beta)
    xp.subtract(x, mean, out=scratch)
    scratch *= grad_out
    xp.sum(scratch, axis=0, out=grad_gamma)
    grad_gamma /= deviation
