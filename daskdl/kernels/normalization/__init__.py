"""Batch normalization of rows: one statistic a feature."""

import numpy as np

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.kernels.dispatch import is_compiled_for
from daskdl.kernels.normalization import cpu, gpu
from daskdl.kernels.normalization.cpu import Exchange


def batch_norm_forward(
    x: FloatArray,
    gamma: FloatArray | float,
    beta: FloatArray | float,
    eps: float,
    *,
    mean: FloatArray,
    variance: FloatArray,
    out: FloatArray,
    rectifies: bool = False,
    exchange: Exchange | None = None,
) -> FloatArray:
    """Compute ``out = gamma * (x - mean) / sqrt(variance + eps) + beta`` of a batch.

    Parameters
    ----------
    x : ndarray of shape (rows, features)
        Not changed. Without rows only where others have some, see `exchange`.
    gamma, beta : ndarray of shape (features,), same dtype, or float
        Scale and shift.
    eps : float
        Keeps the root away from 0.
    mean, variance : ndarray of shape (features,), same dtype
        Overwritten with the statistics of the rows; the variance is the biased one.
    out : ndarray of shape (rows, features), same dtype
        Overwritten.
    rectifies : bool
        Whether the larger of that and 0 is computed instead; NaN stays NaN.
    exchange : function of a tuple, optional
        Returns those of all threads that have rows of the batch, in one order for all;
        the statistics are then those of all the rows.

    Returns
    -------
    out : ndarray
        The array that was given.

    References
    ----------
    Ioffe and Szegedy, *Batch Normalization*, 2015, algorithm 1.
    """
    if is_compiled_for(x, mean, variance, out) and x.size:
        cpu.moments(x, mean, variance)
        if exchange is not None:
            _join_moments(exchange, len(x), mean, variance)
        cpu.normalize(x, gamma, beta, eps, mean, variance, out, rectifies)
        return out
    if exchange is None and gpu.takes(x, mean, variance, out, gamma, beta):
        gpu.moments(x, mean, variance)
        gpu.normalize(x, gamma, beta, eps, mean, variance, out, rectifies)
        return out
    xp = array_namespace(x)
    if len(x):
        xp.mean(x, axis=0, out=mean)
        xp.subtract(x, mean, out=out)
        # Two passes: E[x^2] - E[x]^2 in float32 loses the variance of a large mean.
        xp.mean(out * out, axis=0, out=variance)
    else:
        mean.fill(0)
        variance.fill(0)
    if exchange is not None:
        _join_moments(exchange, len(x), mean, variance)
        xp.subtract(x, mean, out=out)
    return _scale_and_shift(gamma, beta, eps, variance, out, rectifies=rectifies)


def batch_norm_inference(
    x: FloatArray,
    gamma: FloatArray | float,
    beta: FloatArray | float,
    eps: float,
    *,
    mean: FloatArray,
    variance: FloatArray,
    out: FloatArray,
    rectifies: bool = False,
) -> FloatArray:
    """Compute the formula of :func:`batch_norm_forward` with given statistics.

    Parameters
    ----------
    x, gamma, beta, eps
        As in :func:`batch_norm_forward`.
    mean, variance : ndarray of shape (features,), same dtype
        The running statistics. Not changed.
    out : ndarray of shape (rows, features), same dtype
        Overwritten.
    rectifies : bool
        As in :func:`batch_norm_forward`.

    Returns
    -------
    out : ndarray
        The array that was given.
    """
    if is_compiled_for(x, mean, variance, out) and x.size:
        cpu.normalize(x, gamma, beta, eps, mean, variance, out, rectifies)
        return out
    if gpu.takes(x, mean, variance, out, gamma, beta):
        gpu.normalize(x, gamma, beta, eps, mean, variance, out, rectifies)
        return out
    xp = array_namespace(x)
    xp.subtract(x, mean, out=out)
    return _scale_and_shift(gamma, beta, eps, variance, out, rectifies=rectifies)


def batch_norm_backward(
    grad_out: FloatArray,
    x: FloatArray,
    gamma: FloatArray | float,
    eps: float,
    *,
    mean: FloatArray,
    variance: FloatArray,
    grad_gamma: FloatArray,
    grad_beta: FloatArray,
    grad_x: FloatArray,
    rectified_beta: FloatArray | float | None = None,
    exchange: Exchange | None = None,
) -> FloatArray:
    """Compute the gradients of :func:`batch_norm_forward`, through the statistics too.

    Parameters
    ----------
    grad_out, x : ndarray of shape (rows, features)
        Gradient of the loss in the output, and what the forward pass saw. Not changed.
    gamma, eps, mean, variance
        As the forward pass left them.
    grad_gamma, grad_beta : ndarray of shape (features,), same dtype
        Overwritten with the sums over the rows; scratch where they are no parameters.
    grad_x : ndarray of shape (rows, features), same dtype
        Overwritten.
    rectified_beta : ndarray of shape (features,), same dtype, or float, optional
        The `beta` of a forward pass that rectified. The gradient counts, times 1,
        where its output is above 0, and times 0 elsewhere.
    exchange : function of a tuple, optional
        As in :func:`batch_norm_forward`; `grad_gamma` and `grad_beta` are still those
        of the rows that are here.

    Returns
    -------
    grad_x : ndarray
        The array that was given.
    """
    arrays = (grad_out, x, mean, variance, grad_gamma, grad_beta, grad_x)
    if is_compiled_for(*arrays) and x.size:
        cpu.batch_norm_backward(*arrays, gamma, eps, rectified_beta, exchange)
        return grad_x
    if exchange is None and gpu.takes(*arrays, gamma, rectified_beta):
        gpu.batch_norm_backward(*arrays, gamma, eps, rectified_beta)
        return grad_x
    xp = array_namespace(grad_out)
    if rectified_beta is not None:
        xp.subtract(x, mean, out=grad_x)
        moved = _scale_and_shift(gamma, rectified_beta, eps, variance, grad_x)
        grad_out = grad_out * (moved > 0)
    deviation = xp.sqrt(variance + eps)
    _sum_gradients(grad_out, x, mean, deviation, grad_gamma, grad_beta, grad_x)
    rows, along, total = cpu.joined(exchange, len(x), grad_gamma, grad_beta)
    xp.subtract(x, mean, out=grad_x)
    grad_x *= along / (-rows * deviation)
    grad_x += grad_out
    grad_x -= total / rows
    grad_x *= gamma / deviation
    return grad_x


def batch_norm_inference_backward(
    grad_out: FloatArray,
    x: FloatArray,
    gamma: FloatArray | float,
    eps: float,
    *,
    mean: FloatArray,
    variance: FloatArray,
    grad_gamma: FloatArray,
    grad_beta: FloatArray,
    grad_x: FloatArray,
) -> FloatArray:
    """Compute the gradients of :func:`batch_norm_inference`.

    Parameters
    ----------
    grad_out, x : ndarray of shape (rows, features)
        Gradient of the loss in the output, and what the forward pass saw. Not changed.
    gamma, eps, mean, variance
        As in the forward pass.
    grad_gamma, grad_beta, grad_x
        As in :func:`batch_norm_backward`.

    Returns
    -------
    grad_x : ndarray
        The array that was given.
    """
    arrays = (grad_out, x, mean, variance, grad_gamma, grad_beta, grad_x)
    if is_compiled_for(*arrays) and x.size:
        cpu.batch_norm_inference_backward(*arrays, gamma, eps)
        return grad_x
    if gpu.takes(*arrays, gamma):
        gpu.batch_norm_backward(*arrays, gamma, eps, None, is_inference=True)
        return grad_x
    xp = array_namespace(grad_out)
    deviation = xp.sqrt(variance + eps)
    _sum_gradients(grad_out, x, mean, deviation, grad_gamma, grad_beta, grad_x)
    xp.multiply(grad_out, gamma / deviation, out=grad_x)
    return grad_x


def _join_moments(
    exchange: Exchange, rows: int, mean: FloatArray, variance: FloatArray
) -> None:
    """Overwrite the moments of some rows with those of the rows of all threads.

    References
    ----------
    As in :mod:`.cpu`: equation 1.5, for any number of groups, in float64.
    """
    found = exchange((rows, mean.astype(np.float64), variance.astype(np.float64)))
    total = sum(n for n, _, _ in found)
    middle = sum(n * of_mean for n, of_mean, _ in found) / total
    squares = sum(
        n * (spread + np.square(of_mean - middle)) for n, of_mean, spread in found
    )
    mean[...], variance[...] = middle, squares / total


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
