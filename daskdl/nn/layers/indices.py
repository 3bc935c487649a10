"""Numbers of rows that arrive as the features of an embedding."""

from typing import Any

from numpy.typing import NDArray

from daskdl.arrays.namespace import FloatArray
from daskdl.errors import DataError
from daskdl.kernels.embedding import row_numbers


def as_indices(
    x: FloatArray, n_in: int, who: str, *, out: NDArray[Any]
) -> NDArray[Any]:
    """Return features as whole numbers from 0 to below `n_in`.

    Parameters
    ----------
    x : ndarray of any shape, float
        float32 holds whole numbers up to 2**24 exactly.
    n_in : int
        Number of rows of the weights.
    who : str
        Named in the error.
    out : ndarray of shape (x.size,), int
        Overwritten.

    Returns
    -------
    out : ndarray

    Raises
    ------
    DataError
        If a number is not whole, or there is no such row.
    """
    flat = x.reshape(-1)
    wrong = row_numbers(flat, n_in, out=out)
    if wrong >= 0:
        raise DataError(
            f"{who}: features must be whole numbers from 0 to {n_in - 1}, the rows of "
            f"its weights, got {float(flat[wrong]):g}."
        )
    return out
