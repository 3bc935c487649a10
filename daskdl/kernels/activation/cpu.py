"""Activation functions compiled for the CPU, one pass over memory each.

A row of few features is too short for a loop of vectors. Where a row meets a vector of
its length (a bias, sums over the rows) several rows are taken as one long row::

    for strip of several rows:             # at least _STRIP numbers
        for i over the strip:              # one loop of vectors
            ... strip[i] ... tiled[i] ...  # the vector, repeated

An `out` of None means in place, and is compiled by itself: given one array twice, a
loop finds that what it reads and writes overlaps, and runs number by number.
"""

# mypy: disable-error-code="no-untyped-def"

import numpy as np

from daskdl.kernels.jit import jit

# Numbers: entering a loop costs little beside 16 vectors of 16 floats.
_STRIP = 256


@jit
def bias_relu(rows, bias):
    """Add the bias and raise what is below 0."""
    zero = bias.dtype.type(0)
    n = bias.size
    length = _strip_length(rows.shape[0], n)
    tiled = np.empty(length, bias.dtype)
    for i in range(length):
        tiled[i] = bias[i % n]
    flat = rows.reshape(-1)
    for start in range(0, flat.size, length):
        strip = flat[start : start + length]
        for i in range(strip.size):
            value = strip[i] + tiled[i]
            # Not max(): a NaN stays.
            strip[i] = zero if value < zero else value


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
def relu_backward_and_sum(grad, output, out, grad_bias):
    """Do as relu_backward, and sum over the rows."""
    grads, outputs = grad.reshape(-1), output.reshape(-1)
    if out is not None:
        outs = out.reshape(-1)
    zero, one = grad_bias.dtype.type(0), grad_bias.dtype.type(1)
    n = grad_bias.size
    length = _strip_length(grad.shape[0], n)
    sums = np.zeros(length, grad_bias.dtype)
    for start in range(0, grads.size, length):
        g = grads[start : start + length]
        y = outputs[start : start + length]
        o = g
        if out is not None:
            o = outs[start : start + length]
        for i in range(g.size):
            value = g[i]
            o[i] = value * (one if y[i] > zero else zero)
        # By itself: joined with the loop above, half the speed came of it.
        for i in range(o.size):
            sums[i] += o[i]
    for i in range(n):
        grad_bias[i] = sums[i]
    for i in range(n, length):
        grad_bias[i % n] += sums[i]


@jit
def leaky_relu(x, alpha, out):
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
def leaky_relu_backward(grad, sign, alpha, out):
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
def softmax_backward(grad, output, out):
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


@jit
def _strip_length(rows, n):
    """Return the numbers in a strip of one row or several, at least 1."""
    return max(1, n * max(1, min(rows, -(-_STRIP // max(1, n)))))
