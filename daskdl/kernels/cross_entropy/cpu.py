"""The cross entropy compiled for the CPU.

Labels are mostly one class a row. A branch for each would cost more than reading them,
and a logarithm for each much more. So a first loop of vectors finds how many labels are
not 0, their sum, and the sum of their outputs: for one class that is all there is to
know. Other rows are gone through number by number.
"""

# mypy: disable-error-code="no-untyped-def"

import numpy as np

from daskdl.kernels.jit import jit


@jit(reorders=True)
def cross_entropy_rows(labels, output, low, high, rows):
    """Write the cross entropy of each row."""
    zero, one = output.dtype.type(0), output.dtype.type(1)
    for r in range(output.shape[0]):
        label, p = labels[r], output[r]
        count = total = picked = zero
        for i in range(p.size):
            is_counted = one if label[i] != zero else zero
            count += is_counted
            total += label[i]
            # A product, so that a NaN of any output is in the sum.
            picked += is_counted * p[i]
        if count == one:
            rows[r] = -total * _logarithm(picked, low, high)
            continue
        score = 0.0
        for i in range(p.size):
            if (label[i] != zero) | (p[i] != p[i]):
                score += label[i] * _logarithm(p[i], low, high)
        rows[r] = -score


@jit
def _logarithm(p, low, high):
    # As clip() does, so that a NaN stays.
    p = low if p < low else p
    return np.log(high if p > high else p)
