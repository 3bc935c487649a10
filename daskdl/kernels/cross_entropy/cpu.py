"""The cross entropy compiled for the CPU.

Labels are mostly one class a row. A branch for each would cost more than reading them,
and a logarithm for each much more. So a first loop of vectors finds how many labels are
not 0, their sum, and the sum of their outputs: for one class that is all there is to
know. Where every row is of one class or none, the logarithms are left to NumPy, whose
run in vectors. Other rows are gone through number by number.
"""

# mypy: disable-error-code="no-untyped-def"

import numpy as np

from daskdl.arrays.namespace import FloatArray
from daskdl.kernels.jit import jit


def cross_entropy_rows(
    labels: FloatArray, output: FloatArray, low: float, high: float
) -> FloatArray:
    """Return the cross entropy of each row."""
    rows: FloatArray = np.empty(len(output), output.dtype)
    number = output.dtype.type
    if _picked_outputs(labels, output, number(low), number(high), rows):
        np.log(rows, out=rows)
        return np.negative(rows, out=rows)
    _rows(labels, output, number(low), number(high), rows)
    return rows


@jit(reorders=True)
def _picked_outputs(labels, output, low, high, rows):
    """Write the output of the class of each row, and 1 where it has none.

    Return whether all labels are 0, or 1 and alone in their row, and all outputs
    finite; `rows` is of no use if not.
    """
    one = output.dtype.type(1)
    for r in range(output.shape[0]):
        count, total, picked = _counted(labels[r], output[r])
        if (total != count) | (count > one) | (picked != picked):
            return False
        picked = low if picked < low else picked
        picked = high if picked > high else picked
        rows[r] = picked if count == one else one
    return True


@jit(reorders=True)
def _rows(labels, output, low, high, rows):
    """Write the cross entropy of each row."""
    zero, one = output.dtype.type(0), output.dtype.type(1)
    for r in range(output.shape[0]):
        label, p = labels[r], output[r]
        count, total, picked = _counted(label, p)
        if (count == one) & (picked == picked):
            rows[r] = -total * _logarithm(picked, low, high)
            continue
        score = 0.0
        for i in range(p.size):
            # Where an output is not finite, 0 times its logarithm may be NaN.
            if (label[i] != zero) | (p[i] - p[i] != zero):
                score += label[i] * _logarithm(p[i], low, high)
        rows[r] = -score


@jit(reorders=True)
def softmax_gradient(labels, output, out):
    """Write the outputs times the sum of the labels, less the labels, of each row."""
    for r in range(output.shape[0]):
        label, p, result = labels[r], output[r], out[r]
        total = output.dtype.type(0)
        for i in range(p.size):
            total += label[i]
        for i in range(p.size):
            result[i] = p[i] * total - label[i]


@jit(reorders=True)
def _counted(label, p):
    """Return how many labels are not 0, their sum, and the sum of their outputs."""
    zero, one = p.dtype.type(0), p.dtype.type(1)
    count = total = picked = zero
    for i in range(p.size):
        is_counted = one if label[i] != zero else zero
        count += is_counted
        total += label[i]
        # A product: the sum is NaN if any output is infinite or NaN.
        picked += is_counted * p[i]
    return count, total, picked


@jit
def _logarithm(p, low, high):
    # As clip() does, so that a NaN stays.
    p = low if p < low else p
    return np.log(high if p > high else p)
