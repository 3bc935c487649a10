"""Rows of a weight matrix by their number: products with one-hot rows."""

from typing import Any

from numpy.typing import NDArray

from daskdl.arrays.namespace import FloatArray
from daskdl.kernels.embedding import reference


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
    return reference.embedding_forward(indices, weight, out)


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
    reference.embedding_backward(grad_out, indices, grad_weight)
