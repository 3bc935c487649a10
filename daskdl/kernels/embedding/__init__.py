"""Rows of a weight matrix by their number: products with one-hot rows."""

from typing import Any

from numpy.typing import NDArray

from daskdl.arrays.namespace import FloatArray
from daskdl.kernels.dispatch import is_compiled_for
from daskdl.kernels.embedding import cpu, reference


def row_numbers(x: FloatArray, n_in: int, *, out: NDArray[Any]) -> int:
    """Turn numbers of rows into indices, and find the first that is none.

    Parameters
    ----------
    x : ndarray of shape (rows,), float
        Whole numbers from 0 to below `n_in`, hopefully. Not changed.
    n_in : int
        Number of rows of the weights.
    out : ndarray of shape (rows,), int
        Overwritten; of no use if a number is refused.

    Returns
    -------
    position : int
        Of the first number in `x` that is not whole or out of range, NaN included; -1
        if there is none.
    """
    if not is_compiled_for(x):
        return reference.row_numbers(x, n_in, out)
    position: int = cpu.row_numbers(x, x.dtype.type(n_in), out)
    return position


def embedding_forward(
    indices: NDArray[Any], weight: FloatArray, *, out: FloatArray
) -> FloatArray:
    """Compute ``out[i] = weight[indices[i]]``.

    Parameters
    ----------
    indices : ndarray of shape (rows,), int
        From 0 to below n_in; not checked.
    weight : ndarray of shape (n_in, n_out), float
        Not changed.
    out : ndarray of shape (rows, n_out), same dtype
        Overwritten.

    Returns
    -------
    out : ndarray
        The array that was given.
    """
    if not is_compiled_for(weight, out):
        return reference.embedding_forward(indices, weight, out)
    cpu.gather(indices, weight, out)
    return out


def embedding_backward(
    grad_out: FloatArray, indices: NDArray[Any], *, grad_weight: FloatArray
) -> None:
    """Compute the gradient of :func:`embedding_forward`.

    Parameters
    ----------
    grad_out : ndarray of shape (rows, n_out), float
        Gradient of the loss in the output. Not changed.
    indices : ndarray of shape (rows,), int
        As in the forward pass; a row may occur several times.
    grad_weight : ndarray of shape (n_in, n_out), same dtype
        Overwritten with the sums, in the order of the rows.
    """
    if not is_compiled_for(grad_out, grad_weight):
        reference.embedding_backward(grad_out, indices, grad_weight)
        return
    cpu.scatter_add(grad_out, indices, grad_weight)
