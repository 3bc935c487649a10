"""Activation functions by whole-array expressions."""

from daskdl.arrays.namespace import FloatArray, array_namespace


def bias_relu(rows: FloatArray, bias: FloatArray) -> FloatArray:
    """Compute what :func:`daskdl.kernels.activation.bias_relu` says."""
    rows += bias
    array_namespace(rows).maximum(rows, 0, out=rows)
    return rows


def relu_backward(
    grad_out: FloatArray,
    output: FloatArray,
    out: FloatArray,
    grad_bias: FloatArray | None,
) -> FloatArray:
    """Compute what :func:`daskdl.kernels.activation.relu_backward` says."""
    xp = array_namespace(output)
    # In place the comparison needs room of its own.
    is_above = xp.greater(output, 0, out=None if out is grad_out else out)
    xp.multiply(grad_out, is_above, out=out)
    if grad_bias is not None:
        xp.sum(out, axis=0, out=grad_bias)
    return out
