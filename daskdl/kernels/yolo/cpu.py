"""Boxes compiled for the CPU.

The exponentials of all numbers are left to NumPy, whose run in vectors; compiled is
what comes before and after, one pass each.
"""

# mypy: disable-error-code="no-untyped-def"

import numpy as np

from daskdl.arrays.namespace import FloatArray
from daskdl.kernels.jit import jit


def boxes_forward(
    x: FloatArray, priors: FloatArray, limit: float, out: FloatArray
) -> None:
    """Write the boxes; sigmoids take no exponential of more than `limit`."""
    numbers, boxes = (array.reshape(-1, x.shape[-1]) for array in (x, out))
    _exponents(numbers, x.dtype.type(limit), boxes)
    np.exp(boxes, out=boxes)
    _boxes_of_exponentials(priors, boxes)


@jit
def _exponents(x, limit, out):
    """Write what to take the exponentials of, in rows of numbers of one box.

    That is ``-x``, at most `limit`, where a sigmoid is wanted; `x` itself for sizes;
    and classes less the largest of them.
    """
    for r in range(x.shape[0]):
        row, result = x[r], out[r]
        for i in range(5):
            value = -row[i]
            result[i] = limit if value > limit else value
        result[2] = row[2]
        result[3] = row[3]
        most = row[5]
        for i in range(6, row.size):
            most = row[i] if row[i] > most else most
        # It may miss a NaN, which the sum then meets.
        for i in range(5, row.size):
            result[i] = row[i] - most


@jit
def _boxes_of_exponentials(priors, out):
    """Turn exponentials into sigmoids, sizes and shares, in place."""
    one = out.dtype.type(1)
    n_boxes = priors.shape[0]
    for r in range(out.shape[0]):
        row, prior = out[r], priors[r % n_boxes]
        width, height = prior[0] * row[2], prior[1] * row[3]
        for i in range(5):
            row[i] = one / (one + row[i])
        row[2] = width
        row[3] = height
        total = out.dtype.type(0)
        for i in range(5, row.size):
            total += row[i]
        for i in range(5, row.size):
            row[i] /= total
