"""Products of rows with a weight matrix, the core of every dense layer."""

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.kernels.cuda.columns import sum_rows, takes_rows
from daskdl.kernels.cuda.elementwise import add_bias
from daskdl.kernels.dense import cpu
from daskdl.kernels.dispatch import are_rows_on_device, is_compiled_for
from daskdl.kernels.products import matmul


def dense_forward(
    x: FloatArray,
    weight: FloatArray,
    bias: FloatArray | None,
    *,
    rectifies: bool = False,
    out: FloatArray,
) -> FloatArray:
    """Compute ``out = x @ weight + bias``, or the maximum of that and 0.

    Parameters
    ----------
    x : ndarray of shape (rows, n_in)
        Not changed.
    weight : ndarray of shape (n_in, n_out), same dtype
        Not changed.
    bias : ndarray of shape (n_out,), same dtype, or None
        None adds nothing.
    rectifies : bool
        Whether what is below 0 becomes 0.
    out : ndarray of shape (rows, n_out), same dtype
        Overwritten.

    Returns
    -------
    out : ndarray
        The array that was given.
    """
    matmul(x, weight, out=out)
    if bias is not None and is_compiled_for(bias, out):
        # NumPy makes a pass of each, of which the one for short rows is slow.
        (cpu.add_bias_and_rectify if rectifies else cpu.add_bias)(out, bias)
        return out
    if are_rows_on_device(out):
        add_bias(out, bias, rectifies=rectifies)
        return out
    if bias is not None:
        out += bias
    if rectifies:
        array_namespace(out).maximum(out, 0, out=out)
    return out


def dense_backward(
    grad_out: FloatArray,
    x: FloatArray,
    weight: FloatArray,
    *,
    grad_weight: FloatArray | None,
    grad_bias: FloatArray | None,
    grad_x: FloatArray | None,
) -> FloatArray | None:
    """Compute the gradients of :func:`dense_forward`.

    Parameters
    ----------
    grad_out : ndarray of shape (rows, n_out)
        Gradient of the loss in the output. Not changed.
    x, weight : ndarray of shape (rows, n_in), (n_in, n_out), same dtype
        What the forward pass saw. Not changed.
    grad_weight : ndarray of shape (n_in, n_out), same dtype, or None
        Overwritten with the sum over the rows. Usually a view of the flat gradient.
        None where nobody reads it: then it is not computed.
    grad_bias : ndarray of shape (n_out,), same dtype, or None
        Overwritten likewise. None where there is no bias, or nobody reads it.
    grad_x : ndarray of shape (rows, n_in), same dtype, or None
        Overwritten. None where nobody reads it: then it is not computed.

    Returns
    -------
    grad_x : ndarray or None
        What was given.
    """
    if grad_weight is not None:
        matmul(x.T, grad_out, out=grad_weight)
    if grad_bias is not None:
        if takes_rows(grad_out, grad_bias):
            sum_rows(grad_out, out=grad_bias)
        else:
            array_namespace(x).sum(grad_out, axis=0, out=grad_bias)
    if grad_x is not None:
        matmul(grad_out, weight.T, out=grad_x)
    return grad_x
