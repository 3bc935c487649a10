"""The cross entropy of rows of probabilities, and its gradient in a softmax."""

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.kernels.cross_entropy import cpu, gpu
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
    if is_compiled_for(labels, output):
        return cpu.cross_entropy_rows(labels, output, low, high)
    if gpu.takes(labels, output):
        return gpu.cross_entropy_rows(labels, output, low, high)
    xp = array_namespace(output)
    scores = xp.clip(output, low, high)
    xp.log(scores, out=scores)
    scores *= labels
    rows: FloatArray = -xp.sum(scores, axis=-1)
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
    if is_compiled_for(labels, output, out):
        cpu.softmax_gradient(labels, output, out)
        return out
    if gpu.takes(labels, output, out):
        gpu.softmax_gradient(labels, output, out)
        return out
    xp = array_namespace(output)
    xp.multiply(output, xp.sum(labels, axis=-1, keepdims=True), out=out)
    out -= labels
    return out
