"""The rectifier whose slope below 0 is learned."""

from daskdl.arrays.namespace import FloatArray
from daskdl.kernels.prelu import reference


def prelu_forward(x: FloatArray, slope: FloatArray, *, out: FloatArray) -> FloatArray:
    """Compute ``out = x`` where ``x >= 0``, else ``slope * x``.

    Parameters
    ----------
    x : ndarray of shape (batch, ...), float
        Not changed.
    slope : ndarray of shape (...), same dtype
        As many axes as an example; those of length 1 share a slope.
    out : ndarray like x
        Overwritten.

    Returns
    -------
    out : ndarray
        The array that was given.

    References
    ----------
    He et al., *Delving Deep into Rectifiers*, 2015, equation 1.
    """
    return reference.prelu_forward(x, slope, out)


def prelu_backward(
    grad_out: FloatArray,
    x: FloatArray,
    slope: FloatArray,
    *,
    grad_slope: FloatArray,
    grad_x: FloatArray,
) -> FloatArray:
    """Compute the gradients of :func:`prelu_forward`; at 0 it is that of ``x >= 0``.

    Parameters
    ----------
    grad_out : ndarray like x
        Gradient of the loss in the output. Not changed.
    x, slope
        As in the forward pass.
    grad_slope : ndarray like slope
        Overwritten with the sum over the batch and the axes that share a slope.
    grad_x : ndarray like x
        Overwritten.

    Returns
    -------
    grad_x : ndarray
        The array that was given.
    """
    return reference.prelu_backward(grad_out, x, slope, grad_slope, grad_x)
