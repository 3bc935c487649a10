"""Activation functions compiled for the CPU, one pass over memory each.

An `out` of None means in place, and is compiled by itself: given one array twice, a
loop finds that what it reads and writes overlaps, and runs number by number.
"""

# mypy: disable-error-code="no-untyped-def"

import numpy as np

from daskdl.arrays.namespace import FloatArray
from daskdl.kernels.jit import jit


def flat(*read: FloatArray, out: FloatArray) -> list[FloatArray | None]:
    """Return arrays of any shape as the functions of numbers here take them: as rows.

    `out` comes last, or None if it is the first of the others.
    """
    rows: list[FloatArray | None] = [array.reshape(-1) for array in read]
    rows.append(None if out is read[0] else out.reshape(-1))
    return rows


def softmax(x: FloatArray, out: FloatArray) -> None:
    """Write the softmax of `x`, of shape (..., n)."""
    n = x.shape[-1]
    rows, results = x.reshape(-1, n), out.reshape(-1, n)
    subtract_maximum(rows, None if out is x else results)
    # NumPy's exponential runs in vectors, the one that numba calls does not.
    np.exp(results, out=results)
    divide_by_sum(results)


def softmax_backward(grad_out: FloatArray, output: FloatArray, out: FloatArray) -> None:
    """Write the gradient of :func:`softmax`; all are of shape (..., n)."""
    n = output.shape[-1]
    results = None if out is grad_out else out.reshape(-1, n)
    _softmax_backward(grad_out.reshape(-1, n), output.reshape(-1, n), results)


@jit
def relu_backward(grad, output, out):
    """Multiply the gradient by 1 where the output is above 0, and by 0 elsewhere."""
    if out is None:
        out = grad
    zero, one = grad.dtype.type(0), grad.dtype.type(1)
    for i in range(grad.size):
        value = grad[i]
        out[i] = value * (one if output[i] > zero else zero)


@jit
def leaky_relu(x, out, alpha):
    """Multiply what is below 0, or above if alpha is more than 1."""
    if out is None:
        out = x
    is_steep = alpha > x.dtype.type(1)
    for i in range(x.size):
        value = x[i]
        other = alpha * value
        smaller, larger = (value, other) if value < other else (other, value)
        out[i] = smaller if is_steep else larger


@jit
def leaky_relu_backward(grad, sign, out, alpha):
    """Multiply the gradient by alpha where `sign` is below 0."""
    if out is None:
        out = grad
    zero, one = grad.dtype.type(0), grad.dtype.type(1)
    for i in range(grad.size):
        value = grad[i]
        out[i] = value * (one if sign[i] >= zero else alpha)


@jit
def sigmoid_backward(grad, output, out):
    """Multiply the gradient by ``y (1 - y)``."""
    if out is None:
        out = grad
    one = grad.dtype.type(1)
    for i in range(grad.size):
        y = output[i]
        out[i] = grad[i] * ((one - y) * y)


@jit
def tanh_backward(grad, output, out):
    """Multiply the gradient by ``1 - y^2``."""
    if out is None:
        out = grad
    one = grad.dtype.type(1)
    for i in range(grad.size):
        y = output[i]
        out[i] = grad[i] * (one - y * y)


@jit
def subtract_maximum(x, out):
    """Subtract from each row its largest number.

    It may miss a NaN, which the sum of the row then meets.
    """
    if out is None:
        out = x
    n = x.shape[1]
    for r in range(x.shape[0]):
        row, result = x[r], out[r]
        # Four at a time: one comparison need not wait for the one before.
        first = second = third = fourth = row[0]
        for k in range(n // 4):
            part = row[4 * k : 4 * k + 4]
            first = part[0] if part[0] > first else first
            second = part[1] if part[1] > second else second
            third = part[2] if part[2] > third else third
            fourth = part[3] if part[3] > fourth else fourth
        for i in range(n - n % 4, n):
            first = row[i] if row[i] > first else first
        first = second if second > first else first
        third = fourth if fourth > third else third
        most = third if third > first else first
        for i in range(n):
            result[i] = row[i] - most


@jit(reorders=True)
def divide_by_sum(x):
    """Divide each row by its sum."""
    for r in range(x.shape[0]):
        row = x[r]
        total = x.dtype.type(0)
        for i in range(row.size):
            total += row[i]
        for i in range(row.size):
            row[i] /= total


@jit(reorders=True)
def _softmax_backward(grad, output, out):
    """Write ``(grad - sum(grad y)) y`` of each row."""
    if out is None:
        out = grad
    for r in range(grad.shape[0]):
        g, y, result = grad[r], output[r], out[r]
        mean = grad.dtype.type(0)
        for i in range(g.size):
            mean += g[i] * y[i]
        for i in range(g.size):
            result[i] = (g[i] - mean) * y[i]
