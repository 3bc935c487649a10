"""Batch normalization of rows: one statistic a feature."""

import numpy as np

from daskdl.arrays.namespace import FloatArray
from daskdl.kernels.dispatch import is_compiled_for
from daskdl.kernels.normalization import cpu, reference


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
) -> FloatArray:
    """Compute ``out = gamma * (x - mean) / sqrt(variance + eps) + beta`` of a batch.

    Parameters
    ----------
    x : ndarray of shape (rows, features)
        Not changed.
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

    Returns
    -------
    out : ndarray
        The array that was given.

    References
    ----------
    Ioffe and Szegedy, *Batch Normalization*, 2015, algorithm 1.
    """
    if not is_compiled_for(x, mean, variance, out) or not x.size:
        return reference.batch_norm_forward(
            x, gamma, beta, eps, mean, variance, out, rectifies=rectifies
        )
    cpu.moments(x, mean, variance)
    return _shift_and_scale(x, gamma, beta, eps, mean, variance, out, rectifies)


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
    if not is_compiled_for(x, mean, variance, out) or not x.size:
        return reference.batch_norm_inference(
            x, gamma, beta, eps, mean, variance, out, rectifies=rectifies
        )
    return _shift_and_scale(x, gamma, beta, eps, mean, variance, out, rectifies)


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

    Returns
    -------
    grad_x : ndarray
        The array that was given.
    """
    arrays = (grad_out, x, mean, variance, grad_gamma, grad_beta, grad_x)
    if not is_compiled_for(*arrays) or not x.size:
        return reference.batch_norm_backward(
            *(grad_out, x, gamma, eps, mean, variance, grad_gamma, grad_beta, grad_x),
            rectified_beta=rectified_beta,
        )
    deviation = np.sqrt(variance + eps)
    slope = gamma / deviation
    shift = None if rectified_beta is None else np.full_like(mean, rectified_beta)
    cpu.gradient_sums(grad_out, x, mean, slope, shift, grad_gamma, grad_beta)
    grad_gamma /= deviation
    share = slope / -len(x)
    cpu.combine(
        grad_out,
        x,
        mean,
        slope,
        grad_gamma * share / deviation,
        grad_beta * share,
        shift,
        grad_x,
    )
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
    if not is_compiled_for(*arrays) or not x.size:
        return reference.batch_norm_inference_backward(
            grad_out, x, gamma, eps, mean, variance, grad_gamma, grad_beta, grad_x
        )
    deviation = np.sqrt(variance + eps)
    slope, nothing = gamma / deviation, np.zeros_like(mean)
    cpu.gradient_sums(grad_out, x, mean, slope, None, grad_gamma, grad_beta)
    grad_gamma /= deviation
    cpu.shift_and_scale(
        grad_out, nothing, slope, nothing, x.dtype.type(-np.inf), grad_x
    )
    return grad_x


def _shift_and_scale(
    x: FloatArray,
    gamma: FloatArray | float,
    beta: FloatArray | float,
    eps: float,
    mean: FloatArray,
    variance: FloatArray,
    out: FloatArray,
    rectifies: bool,
) -> FloatArray:
    scale = gamma / np.sqrt(variance + eps)
    shift = np.full_like(mean, beta)
    least = x.dtype.type(0 if rectifies else -np.inf)
    cpu.shift_and_scale(x, mean, scale, shift, least, out)
    return out
