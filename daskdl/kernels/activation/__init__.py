"""Activation functions in one pass, and a rectifier joined with a bias."""

from daskdl.arrays.namespace import FloatArray
from daskdl.kernels.activation import cpu, reference
from daskdl.kernels.dispatch import is_compiled_for


def bias_relu(rows: FloatArray, bias: FloatArray) -> FloatArray:
    """Compute ``rows = max(rows + bias, 0)`` in place.

    Parameters
    ----------
    rows : ndarray of shape (rows, features)
        Overwritten. NaN stays NaN.
    bias : ndarray of shape (features,), same dtype
        Not changed.

    Returns
    -------
    rows : ndarray
        The array that was given.
    """
    if is_compiled_for(rows, bias):
        cpu.bias_relu(rows, bias)
        return rows
    return reference.bias_relu(rows, bias)


def relu_backward(
    grad_out: FloatArray,
    output: FloatArray,
    *,
    out: FloatArray,
    grad_bias: FloatArray | None = None,
) -> FloatArray:
    """Compute the gradient of a rectifier, and of the bias in front of it.

    Parameters
    ----------
    grad_out, output : ndarray of shape (rows, features)
        Gradient of the loss in the output, and the output. Not changed, unless `out`
        is `grad_out`. Without a bias any shape will do.
    out : ndarray like grad_out
        Overwritten by the gradient times 1 where the output is above 0, and times 0
        elsewhere: what is infinite or NaN stays to be seen.
    grad_bias : ndarray of shape (features,), same dtype, optional
        Overwritten by the sums of `out` over the rows.

    Returns
    -------
    out : ndarray
        The array that was given.
    """
    if not is_compiled_for(grad_out, output, out):
        return reference.relu_backward(grad_out, output, out, grad_bias)
    target = None if out is grad_out else out
    if grad_bias is None:
        flat = None if target is None else target.reshape(-1)
        cpu.relu_backward(grad_out.reshape(-1), output.reshape(-1), flat)
    else:
        cpu.relu_backward_and_sum(grad_out, output, target, grad_bias)
    return out
