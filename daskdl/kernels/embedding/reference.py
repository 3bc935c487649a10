"""The embedding pair by the array library's own indexing."""

from typing import Any

from numpy.typing import NDArray

from daskdl.arrays.namespace import FloatArray, array_namespace


def row_numbers(x: FloatArray, n_in: int, out: NDArray[Any]) -> int:
    """Compute what :func:`daskdl.kernels.embedding.row_numbers` says."""
    xp = array_namespace(x)
    is_number = (x >= 0) & (x < n_in) & (x % 1 == 0)
    if not bool(xp.all(is_number)):
        return int(xp.argmin(is_number))
    out[...] = x
    return -1


def embedding_forward(
    indices: NDArray[Any], weight: FloatArray, out: FloatArray
) -> FloatArray:
    """Compute what :func:`daskdl.kernels.embedding.embedding_forward` says."""
    array_namespace(weight).take(weight, indices, axis=0, out=out)
    return out


def embedding_backward(
    grad_out: FloatArray, indices: NDArray[Any], grad_weight: FloatArray
) -> None:
    """Compute what :func:`daskdl.kernels.embedding.embedding_backward` says."""
    grad_weight.fill(0)
    array_namespace(grad_out).add.at(grad_weight, indices, grad_out)
