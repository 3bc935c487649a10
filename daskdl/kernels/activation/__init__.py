"""Activation functions and their gradients in one pass.

Wherever an array `out` is asked for, it is also what is returned. It may be the first
argument itself; anything else that shares memory with it is not allowed.
"""

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.kernels.activation import cpu, gpu
from daskdl.kernels.dispatch import is_compiled_for


def relu_backward(
    grad_out: FloatArray, output: FloatArray, *, out: FloatArray
) -> FloatArray:
    """Compute the gradient of a rectifier.

    Parameters
    ----------
    grad_out, output : ndarray of any shape
        Gradient of the loss in the output, and the output. Not changed, unless `out`
        is `grad_out`.
    out : ndarray like grad_out
        Overwritten by the gradient times 1 where the output is above 0, and times 0
        elsewhere: what is infinite or NaN stays to be seen.
    """
    if is_compiled_for(grad_out, output, out):
        cpu.relu_backward(*cpu.flat(grad_out, output, out=out))
        return out
    if gpu.takes(grad_out, output, out):
        gpu.relu_backward(grad_out, output, out)
        return out
    xp = array_namespace(output)
    is_above = xp.greater(output, 0, out=_scratch(grad_out, out))
    xp.multiply(grad_out, is_above, out=out)
    return out


def leaky_relu(x: FloatArray, alpha: float, *, out: FloatArray) -> FloatArray:
    """Compute ``max(x, alpha * x)``, or the minimum for an alpha above 1.

    Parameters
    ----------
    x : ndarray of any shape
        Not changed, unless it is `out`.
    alpha : float
        The slope below 0.
    out : ndarray like x
        Overwritten.
    """
    if is_compiled_for(x, out):
        cpu.leaky_relu(*cpu.flat(x, out=out), x.dtype.type(alpha))
        return out
    if gpu.takes(x, out):
        gpu.leaky_relu(x, alpha, out)
        return out
    xp = array_namespace(x)
    choose = xp.maximum if alpha <= 1 else xp.minimum
    choose(x, alpha * x, out=out)
    return out


def leaky_relu_backward(
    grad_out: FloatArray, sign: FloatArray, alpha: float, *, out: FloatArray
) -> FloatArray:
    """Compute the gradient of :func:`leaky_relu`.

    Parameters
    ----------
    grad_out : ndarray of any shape
        Gradient of the loss in the output. Not changed, unless it is `out`.
    sign : ndarray like grad_out
        What has the signs of the input. Not changed.
    alpha : float
        The slope where `sign` is below 0.
    out : ndarray like grad_out
        Overwritten.
    """
    if is_compiled_for(grad_out, sign, out):
        slope = grad_out.dtype.type(alpha)
        cpu.leaky_relu_backward(*cpu.flat(grad_out, sign, out=out), slope)
        return out
    if gpu.takes(grad_out, sign, out):
        gpu.leaky_relu_backward(grad_out, sign, alpha, out)
        return out
    xp = array_namespace(sign)
    one, slope = xp.asarray(1, sign.dtype), xp.asarray(alpha, sign.dtype)
    xp.multiply(grad_out, xp.where(sign >= 0, one, slope), out=out)
    return out


def sigmoid_backward(
    grad_out: FloatArray, output: FloatArray, *, out: FloatArray
) -> FloatArray:
    """Compute ``grad_out * output * (1 - output)``.

    Parameters
    ----------
    grad_out, output : ndarray of any shape
        Gradient of the loss in the output, and the output. Not changed, unless `out` is
        `grad_out`.
    out : ndarray like grad_out
        Overwritten.
    """
    if is_compiled_for(grad_out, output, out):
        cpu.sigmoid_backward(*cpu.flat(grad_out, output, out=out))
        return out
    if gpu.takes(grad_out, output, out):
        gpu.sigmoid_backward(grad_out, output, out)
        return out
    xp = array_namespace(output)
    slope = xp.subtract(1, output, out=_scratch(grad_out, out))
    slope *= output
    xp.multiply(grad_out, slope, out=out)
    return out


def tanh_backward(
    grad_out: FloatArray, output: FloatArray, *, out: FloatArray
) -> FloatArray:
    """Compute ``grad_out * (1 - output^2)``.

    Parameters
    ----------
    grad_out, output, out
        As for :func:`sigmoid_backward`.
    """
    if is_compiled_for(grad_out, output, out):
        cpu.tanh_backward(*cpu.flat(grad_out, output, out=out))
        return out
    if gpu.takes(grad_out, output, out):
        gpu.tanh_backward(grad_out, output, out)
        return out
    xp = array_namespace(output)
    slope = xp.multiply(output, output, out=_scratch(grad_out, out))
    xp.subtract(1, slope, out=slope)
    xp.multiply(grad_out, slope, out=out)
    return out


def softmax(x: FloatArray, *, out: FloatArray) -> FloatArray:
    """Compute ``exp(x) / sum(exp(x))`` along the last axis.

    Parameters
    ----------
    x : ndarray of shape (..., n)
        Not changed, unless it is `out`.
    out : ndarray like x
        Overwritten.
    """
    if is_compiled_for(x, out) and x.size:
        cpu.softmax(x, out)
        return out
    if gpu.takes(x, out):
        gpu.softmax(x, out)
        return out
    xp = array_namespace(x)
    xp.subtract(x, xp.max(x, axis=-1, keepdims=True), out=out)
    xp.exp(out, out=out)
    out /= xp.sum(out, axis=-1, keepdims=True)
    return out


def softmax_backward(
    grad_out: FloatArray, output: FloatArray, *, out: FloatArray
) -> FloatArray:
    """Compute the gradient of :func:`softmax`.

    Parameters
    ----------
    grad_out, output : ndarray of shape (..., n)
        Gradient of the loss in the output, and the output. Not changed, unless `out` is
        `grad_out`.
    out : ndarray like grad_out
        Overwritten.
    """
    if is_compiled_for(grad_out, output, out) and out.size:
        cpu.softmax_backward(grad_out, output, out)
        return out
    if gpu.takes(grad_out, output, out):
        gpu.softmax_backward(grad_out, output, out)
        return out
    xp = array_namespace(output)
    products = xp.multiply(grad_out, output, out=_scratch(grad_out, out))
    mean = xp.sum(products, axis=-1, keepdims=True)
    xp.subtract(grad_out, mean, out=out)
    out *= output
    return out


def _scratch(grad_out: FloatArray, out: FloatArray) -> FloatArray | None:
    """Return where something can be worked out while `grad_out` is still needed."""
    shared = array_namespace(out).may_share_memory(grad_out, out)
    return None if shared else out
