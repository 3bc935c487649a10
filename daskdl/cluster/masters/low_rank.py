"""Matrices in a flat gradient, and the algebra of their approximations. Pure.

Where all members are to get the same bits there is no matrix product: the order of its
sums differs between kinds of CPUs.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from daskdl.arrays.flat import Slot
from daskdl.arrays.namespace import FloatArray

_SEED = 2019
# Of a vector's length, in roundings: what is left of one that depends on those before
# it is noise, and would be a direction that nobody meant.
_NOISE = 100


@dataclass(frozen=True, kw_only=True)
class Matrix:
    """A stretch of the flat gradient, seen as a matrix that is no higher than wide.

    So bases are of its shorter side: a rank of so many leaves nothing out.

    Attributes
    ----------
    start : int
        Where it begins.
    shape : tuple of (int, int)
        How it lies there.
    rank : int
        Of its approximation.
    """

    start: int
    shape: tuple[int, int]
    rank: int

    @property
    def rows(self) -> int:
        """Its shorter side."""
        return min(self.shape)

    @property
    def columns(self) -> int:
        """Its longer side."""
        return max(self.shape)

    @property
    def span(self) -> slice:
        """Where it lies."""
        return slice(self.start, self.start + self.rows * self.columns)

    def of(self, vector: FloatArray) -> FloatArray:
        """Return the view of shape (rows, columns) of a vector of shape (n,)."""
        view = vector[self.span].reshape(self.shape)
        return view if self.shape[0] <= self.shape[1] else view.T


def matrices(
    slots: Iterable[Slot], rank: int, min_compression_rate: float
) -> list[Matrix]:
    """Return which parameters are worth being approximated, in the order of slots.

    Parameters
    ----------
    slots : iterable of Slot
        Arrays of more than two axes are cut between two of them so that the sides of
        the matrix are as short as can be.
    rank : int
        At most that of the matrix.
    min_compression_rate : float
        How many times as long as both factors a matrix must be.
    """
    found = [_matrix(slot, rank) for slot in slots if len(slot.shape) > 1]
    return [
        matrix
        for matrix in found
        if (matrix.rows + matrix.columns) * matrix.rank * min_compression_rate
        < matrix.rows * matrix.columns
    ]


def _matrix(slot: Slot, rank: int) -> Matrix:
    cuts = [
        (math.prod(slot.shape[:axis]), math.prod(slot.shape[axis:]))
        for axis in range(1, len(slot.shape))
    ]
    shape = min(cuts, key=sum)
    return Matrix(start=slot.offset, shape=shape, rank=min(rank, *shape))


def orthonormal(vectors: FloatArray) -> FloatArray:
    """Return an orthonormal basis of columns, by Gram and Schmidt in their order.

    Parameters
    ----------
    vectors : ndarray of shape (rows, rank), float32 or float64
        Not changed.

    Returns
    -------
    basis : ndarray of shape (rows, rank), same dtype
        A column that depends on those before it gives way to an axis.

    Notes
    -----
    In float64, twice, and without a matrix product: its sums differ between kinds of
    CPUs, and all members are to have the same bits.
    """
    basis = np.ascontiguousarray(vectors.T, np.float64)
    noise = _NOISE * float(np.finfo(vectors.dtype).eps)
    for number, vector in enumerate(basis):
        axes = iter(range(vector.size))
        while _is_dependent(vector, basis[:number], noise):
            vector.fill(0)
            vector[next(axes)] = 1
    found: FloatArray = basis.T.astype(vectors.dtype)
    return found


def _is_dependent(vector: FloatArray, others: FloatArray, noise: float) -> bool:
    """Make a vector orthonormal to others, unless next to nothing is left of it."""
    before = _length(vector)
    for other in (*others, *others):
        vector -= np.sum(other * vector) * other
    left = _length(vector)
    # What is no number stays none, and is refused as such.
    if left <= noise * before:
        return True
    vector /= left
    return False


def product(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return P̂ Qᵀ with the same bits on each kind of CPU.

    Parameters
    ----------
    left, right : ndarray of shape (rows, rank), (columns, rank)
        Not changed.

    Returns
    -------
    ndarray of shape (rows, columns)
        Newly allocated.
    """
    total = np.multiply.outer(left[:, 0], right[:, 0])
    for column in range(1, left.shape[1]):
        total += np.multiply.outer(left[:, column], right[:, column])
    return total


def drawn(matrix: Matrix) -> FloatArray:
    """Return the Q with which a matrix begins, (columns, rank), float64."""
    rng = np.random.default_rng([_SEED, matrix.start])
    return rng.random((matrix.columns, matrix.rank)) - 0.5


def _length(vector: FloatArray) -> float:
    return math.sqrt(float(np.sum(vector * vector)))
