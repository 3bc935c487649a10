"""Activation functions by whole-array expressions."""

from daskdl.arrays.namespace import FloatArray, array_namespace


def relu_backward(
    grad_out: FloatArray, output: FloatArray, out: FloatArray
) -> FloatArray:
    """Compute what :func:`daskdl.kernels.activation.relu_backward` says."""
    xp = array_namespace(output)
    is_above = xp.greater(output, 0, out=_room(grad_out, out))
    xp.multiply(grad_out, is_above, out=out)
    return out


def leaky_relu(x: FloatArray, alpha: float, out: FloatArray) -> FloatArray:
    """Compute what :func:`daskdl.kernels.activation.leaky_relu` says."""
    xp = array_namespace(x)
    choose = xp.maximum if alpha <= 1 else xp.minimum
    choose(x, alpha * x, out=out)
    return out


def leaky_relu_backward(
    grad_out: FloatArray, sign: FloatArray, alpha: float, out: FloatArray
) -> FloatArray:
    """Compute what :func:`daskdl.kernels.activation.leaky_relu_backward` says."""
    xp = array_namespace(sign)
    one, slope = xp.asarray(1, sign.dtype), xp.asarray(alpha, sign.dtype)
    xp.multiply(grad_out, xp.where(sign >= 0, one, slope), out=out)
    return out


def sigmoid_backward(
    grad_out: FloatArray, output: FloatArray, out: FloatArray
) -> FloatArray:
    """Compute what :func:`daskdl.kernels.activation.sigmoid_backward` says."""
    xp = array_namespace(output)
    slope = xp.subtract(1, output, out=_room(grad_out, out))
    slope *= output
    xp.multiply(grad_out, slope, out=out)
    return out


def tanh_backward(
    grad_out: FloatArray, output: FloatArray, out: FloatArray
) -> FloatArray:
    """Compute what :func:`daskdl.kernels.activation.tanh_backward` says."""
    xp = array_namespace(output)
    slope = xp.multiply(output, output, out=_room(grad_out, out))
    xp.subtract(1, slope, out=slope)
    xp.multiply(grad_out, slope, out=out)
    return out


def softmax(x: FloatArray, out: FloatArray) -> FloatArray:
    """Compute what :func:`daskdl.kernels.activation.softmax` says."""
    xp = array_namespace(x)
    xp.subtract(x, xp.max(x, axis=-1, keepdims=True), out=out)
    xp.exp(out, out=out)
    out /= xp.sum(out, axis=-1, keepdims=True)
    return out


def softmax_backward(
    grad_out: FloatArray, output: FloatArray, out: FloatArray
) -> FloatArray:
    """Compute what :func:`daskdl.kernels.activation.softmax_backward` says."""
    xp = array_namespace(output)
    products = xp.multiply(grad_out, output, out=_room(grad_out, out))
    mean = xp.sum(products, axis=-1, keepdims=True)
    xp.subtract(grad_out, mean, out=out)
    out *= output
    return out


def _room(grad_out: FloatArray, out: FloatArray) -> FloatArray | None:
    """Return where something can be worked out while `grad_out` is still needed."""
    shared = array_namespace(out).may_share_memory(grad_out, out)
    return None if shared else out
