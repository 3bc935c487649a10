"""Pooling over all cells of an example compiled for the CPU: one pass over memory.

A mask is an array or None; without one nothing of it is compiled.
"""

# mypy: disable-error-code="no-untyped-def"

import numpy as np

from daskdl.arrays.namespace import FloatArray
from daskdl.kernels.jit import jit


def divisors(x: FloatArray, kind: str, mask: FloatArray | None) -> FloatArray:
    """Return by what the sums are divided, of shape (batch,)."""
    if kind == "avg" and mask is not None:
        counts: FloatArray = np.maximum(mask.sum(axis=1, dtype=x.dtype), 1)
        return counts
    return np.full(len(x), x.shape[1] if kind == "avg" else 1, x.dtype)


@jit
def max_forward(x, mask, out, winner):
    """Write the largest value of the kept cells, and where it is."""
    lowest, zero = out.dtype.type(-np.inf), out.dtype.type(0)
    for b in range(x.shape[0]):
        best, cell = out[b], winner[b]
        is_empty = True
        for i in range(best.size):
            best[i] = lowest
            cell[i] = 0
        for k in range(x.shape[1]):
            if mask is not None and not mask[b, k] > 0:
                continue
            is_empty = False
            values = x[b, k]
            for i in range(best.size):
                value, most, where = values[i], best[i], cell[i]
                # The first NaN wins, as in argmax.
                is_better = (value > most) | ((value != value) & (most == most))
                best[i] = value if is_better else most
                cell[i] = k if is_better else where
        if is_empty:
            for i in range(best.size):
                best[i] = zero


@jit
def max_backward(grad_out, winner, mask, grad_x):
    """Give each winner its gradient, times 0 where the mask drops it."""
    zero = grad_x.dtype.type(0)
    for b in range(grad_x.shape[0]):
        example = grad_x[b].reshape(-1)
        for i in range(example.size):
            example[i] = zero
        for i in range(grad_out.shape[1]):
            cell, share = winner[b, i], grad_out[b, i]
            if mask is not None:
                share = share if mask[b, cell] > 0 else share * zero
            grad_x[b, cell, i] = share


@jit
def mean_forward(x, mask, divisors, out):
    """Write the sum of the masked cells over the example's divisor."""
    zero = out.dtype.type(0)
    for b in range(x.shape[0]):
        sums, divisor = out[b], divisors[b]
        for i in range(sums.size):
            sums[i] = zero
        for k in range(x.shape[1]):
            values = x[b, k]
            if mask is None:
                for i in range(sums.size):
                    sums[i] += values[i]
            else:
                share = mask[b, k]
                for i in range(sums.size):
                    sums[i] += values[i] * share
        for i in range(sums.size):
            sums[i] /= divisor


@jit
def mean_backward(grad_out, mask, divisors, grad_x):
    """Give each cell the gradient over the example's divisor, times the mask."""
    cells = grad_x.shape[1]
    for b in range(grad_x.shape[0]):
        grad, divisor = grad_out[b], divisors[b]
        # Divided once, where the last cell's gradient goes in the end.
        last = grad_x[b, cells - 1]
        for i in range(grad.size):
            last[i] = grad[i] / divisor
        for k in range(cells - 1):
            target = grad_x[b, k]
            if mask is None:
                for i in range(grad.size):
                    target[i] = last[i]
            else:
                share = mask[b, k]
                for i in range(grad.size):
                    target[i] = last[i] * share
        if mask is not None:
            share = mask[b, cells - 1]
            for i in range(grad.size):
                last[i] *= share
