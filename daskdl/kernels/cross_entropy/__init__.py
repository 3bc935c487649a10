"""The cross entropy of rows of probabilities, and its gradient in a softmax."""

import numpy as np

from daskdl.arrays.namespace import FloatArray
from daskdl.kernels.cross_entropy import cpu, reference
from daskdl.kernels.dispatch import is_compiled_for


def cross_entropy_rows(
    labels: FloatArray, output: FloatArray, low: float, high: float
) -> FloatArray:
    """Compute ``-sum(labels * log(clip(output, low, high)))`` of each row.

    Parameters
    ----------
    labels, output : ndarray of shape (rows, n_out)
        Targets and probabilities. Not changed. A NaN makes its row NaN.
    low, high : float
        Above 0, so that there is a logarithm.

    Returns
    -------
    rows : ndarray of shape (rows,), same dtype
        Newly allocated.

    Notes
    -----
    The compiled kernel takes logarithms only where a label is not 0: of one in each
    row, where labels are classes.
    """
    if not is_compiled_for(labels, output):
        return reference.cross_entropy_rows(labels, output, low, high)
    rows: FloatArray = np.empty(len(output), output.dtype)
    number = output.dtype.type
    if cpu.picked_outputs(labels, output, number(low), number(high), rows):
        np.log(rows, out=rows)
        return np.negative(rows, out=rows)
    cpu.cross_entropy_rows(labels, output, number(low), number(high), rows)
    return rows


def softmax_gradient(
    labels: FloatArray, output: FloatArray, *, out: FloatArray
) -> FloatArray:
    """Compute ``output * sum(labels) - labels`` of each row.

    That is the gradient of the cross entropy in what went into the softmax.

    Parameters
    ----------
    labels, output : ndarray of shape (rows, n_out)
        Targets, and the output of the softmax. Not changed.
    out : ndarray of shape (rows, n_out), same dtype
        Overwritten; may be `output` itself.
    """
    if not is_compiled_for(labels, output, out):
        return reference.softmax_gradient(labels, output, out)
    cpu.softmax_gradient(labels, output, out)
    return out
