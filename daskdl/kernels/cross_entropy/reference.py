"""The cross entropy by whole-array expressions."""

from daskdl.arrays.namespace import FloatArray, array_namespace


def cross_entropy_rows(
    labels: FloatArray, output: FloatArray, low: float, high: float
) -> FloatArray:
    """Compute what :func:`daskdl.kernels.cross_entropy.cross_entropy_rows` says."""
    xp = array_namespace(output)
    scores = xp.clip(output, low, high)
    xp.log(scores, out=scores)
    scores *= labels
    rows: FloatArray = -xp.sum(scores, axis=-1)
    return rows


def softmax_gradient(
    labels: FloatArray, output: FloatArray, out: FloatArray
) -> FloatArray:
    """Compute what :func:`daskdl.kernels.cross_entropy.softmax_gradient` says."""
    xp = array_namespace(output)
    xp.multiply(output, xp.sum(labels, axis=-1, keepdims=True), out=out)
    out -= labels
    return out
