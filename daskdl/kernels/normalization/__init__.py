"""Batch normalization of rows, one statistic a feature."""

from daskdl.arrays.namespace import FloatArray
from daskdl.kernels.normalization import reference


def batch_norm_forward(
    x: FloatArray,
    gamma: FloatArray | float,
    beta: FloatArray | float,
    eps: float,
    *,
    mean: FloatArray,
    variance: FloatArray,
    normalized: FloatArray,
    out: FloatArray,
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
    normalized : ndarray of shape (rows, features), same dtype
        Overwritten with the values before scale and shift: the backward pass's.
    out : ndarray of shape (rows, features), same dtype
        Overwritten.

    Returns
    -------
    out : ndarray
        The array that was given.

    References
    ----------
    Ioffe and Szegedy, *Batch Normalization*, 2015, algorithm 1.
    """
    return reference.batch_norm_forward(
        x, gamma, beta, eps, mean, variance, normalized, out
    )


def batch_norm_inference(
    x: FloatArray,
    gamma: FloatArray | float,
    beta: FloatArray | float,
    eps: float,
    *,
    mean: FloatArray,
    variance: FloatArray,
    out: FloatArray,
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

    Returns
    -------
    out : ndarray
        The array that was given.
    """
    return reference.batch_norm_inference(x, gamma, beta, eps, mean, variance, out)


def batch_norm_backward(
    grad_out: FloatArray,
    normalized: FloatArray,
    gamma: FloatArray | float,
    variance: FloatArray,
    eps: float,
    *,
    grad_gamma: FloatArray,
    grad_beta: FloatArray,
    grad_x: FloatArray,
) -> FloatArray:
    """Compute the gradients of :func:`batch_norm_forward`, through the statistics too.

    Parameters
    ----------
    grad_out : ndarray of shape (rows, features)
        Gradient of the loss in the output. Not changed.
    normalized, gamma, variance, eps
        As the forward pass left them.
    grad_gamma, grad_beta : ndarray of shape (features,), same dtype
        Overwritten with the sums over the rows; scratch where they are no parameters.
    grad_x : ndarray of shape (rows, features), same dtype
        Overwritten.

    Returns
    -------
    grad_x : ndarray
        The array that was given.
    """
    return reference.batch_norm_backward(
        grad_out, normalized, gamma, variance, eps, grad_gamma, grad_beta, grad_x
    )
