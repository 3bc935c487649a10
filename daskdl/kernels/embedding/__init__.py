"""Rows of a weight matrix by their number: products with one-hot rows."""

from typing import Any

from numpy.typing import NDArray

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.kernels.dispatch import is_compiled_for
from daskdl.kernels.embedding import cpu


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
    if is_compiled_for(x):
        position: int = cpu.row_numbers(x, x.dtype.type(n_in), out)
        return position
    xp = array_namespace(x)
    is_number = (x >= 0) & (x < n_in) & (x % 1 == 0)
    if not bool(xp.all(is_number)):
        return int(xp.argmin(is_number))
    out[...] = x
    return -1


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
    if is_compiled_for(weight, out):
        cpu.gather(indices, weight, out)
        return out
    array_namespace(weight).take(weight, indices, axis=0, out=out)
    return out


def embedding_sums(
    indices: NDArray[Any], weight: FloatArray, divisor: int, *, out: FloatArray
) -> FloatArray:
    """Compute ``out[b] = sum(weight[indices[b, k]] over k) / divisor``.

    Parameters
    ----------
    indices : ndarray of shape (batch, steps), int
        From 0 to below n_in; not checked.
    weight : ndarray of shape (n_in, n_out), float
        Not changed.
    divisor : int
        1 for sums, `steps` for averages.
    out : ndarray of shape (batch, n_out), same dtype
        Overwritten.

    Returns
    -------
    out : ndarray
        The array that was given.
    """
    # Without steps NumPy has something to say.
    if indices.size and is_compiled_for(weight, out):
        cpu.gather_sums(indices, weight, weight.dtype.type(divisor), out)
        return out
    xp = array_namespace(weight)
    xp.sum(xp.take(weight, indices, axis=0), axis=1, out=out)
    out /= divisor
    return out


def embedding_backward(
    grad_out: FloatArray, indices: NDArray[Any], *, grad_weight: FloatArray
) -> None:
    """Compute the gradient of :func:`embedding_forward`, or of sums of steps.

    Parameters
    ----------
    grad_out : ndarray of shape (rows, n_out), float
        Gradient of the loss in the output. Not changed.
    indices : ndarray of shape (rows,) or (rows, steps), int
        As in the forward pass; a row may occur several times.
    grad_weight : ndarray of shape (n_in, n_out), same dtype
        Overwritten with the sums, in the order of the rows.
    """
    each = indices if indices.ndim == 2 else indices[:, None]
    if is_compiled_for(grad_out, grad_weight):
        cpu.scatter_add(grad_out, each, grad_weight)
        return
    grad_weight.fill(0)
    array_namespace(grad_out).add.at(grad_weight, each, grad_out[:, None])
