"""Activation functions and their gradients in one pass.

Wherever an array `out` is asked for, it is also what is returned. It may be the first
argument itself; anything else that shares memory with it is not allowed.
"""

import numpy as np

from daskdl.arrays.namespace import FloatArray
from daskdl.kernels.activation import cpu, reference
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
    if not is_compiled_for(grad_out, output, out):
        return reference.relu_backward(grad_out, output, out)
    cpu.relu_backward(grad_out.reshape(-1), output.reshape(-1), _unless(grad_out, out))
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
    if not is_compiled_for(x, out):
        return reference.leaky_relu(x, alpha, out)
    cpu.leaky_relu(x.reshape(-1), x.dtype.type(alpha), _unless(x, out))
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
    if not is_compiled_for(grad_out, sign, out):
        return reference.leaky_relu_backward(grad_out, sign, alpha, out)
    cpu.leaky_relu_backward(
        grad_out.reshape(-1),
        sign.reshape(-1),
        grad_out.dtype.type(alpha),
        _unless(grad_out, out),
    )
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
    if not is_compiled_for(grad_out, output, out):
        return reference.sigmoid_backward(grad_out, output, out)
    cpu.sigmoid_backward(
        grad_out.reshape(-1), output.reshape(-1), _unless(grad_out, out)
    )
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
    if not is_compiled_for(grad_out, output, out):
        return reference.tanh_backward(grad_out, output, out)
    cpu.tanh_backward(grad_out.reshape(-1), output.reshape(-1), _unless(grad_out, out))
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
    if not is_compiled_for(x, out) or not x.size:
        return reference.softmax(x, out)
    n = x.shape[-1]
    rows, results = x.reshape(-1, n), out.reshape(-1, n)
    cpu.subtract_maximum(rows, None if out is x else results)
    # NumPy's exponential runs in vectors, the one that numba calls does not.
    np.exp(results, out=results)
    cpu.divide_by_sum(results)
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
    if not is_compiled_for(grad_out, output, out) or not out.size:
        return reference.softmax_backward(grad_out, output, out)
    n = output.shape[-1]
    results = None if out is grad_out else out.reshape(-1, n)
    cpu.softmax_backward(grad_out.reshape(-1, n), output.reshape(-1, n), results)
    return out


def _unless(first: FloatArray, out: FloatArray) -> FloatArray | None:
    """Return `out` as one row, or None if it is `first`: what kernels call in place."""
    return None if out is first else out.reshape(-1)
