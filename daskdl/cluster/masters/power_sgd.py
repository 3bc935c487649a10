"""Gradients of low rank: what members bring to two sums, and what these come to. Pure.

A gradient that is a matrix M, summed over all members, is approximated by P̂ Qᵀ of rank
r, in one step of a power iteration that goes on from the last one's Q::

    P = Σ M Q        first sum, (rows, r); P̂ is its orthonormal basis
    Q = Σ Mᵀ P̂       second sum, (columns, r), with all that is no matrix
    M ≈ P̂ Qᵀ

What that leaves out of a member's own M, (1 - P̂ P̂ᵀ) M, is its error, which its next M
gets.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import DTypeLike

from daskdl.arrays.namespace import FloatArray
from daskdl.cluster.masters.low_rank import Matrix, drawn, orthonormal, product


class PowerSgd:
    """The approximation of one member's gradients, and the error that it remembers.

    Parameters
    ----------
    size : int
        Length of the gradients.
    found : sequence of Matrix
        What is approximated; all else is brought as it is.
    dtype : {'float32', 'float64'}
        Of the gradients.

    Attributes
    ----------
    has_error : bool
        Whether anything was left out that has not been made up for.

    Notes
    -----
    Gradients are sums over examples, errors are means: the error of a minibatch that
    was large does not weigh more in a small one.

    References
    ----------
    Vogels, Karimireddy, Jaggi, "PowerSGD: Practical low-rank gradient compression for
    distributed optimization", 2019, algorithms 1 and 2. Errors are those of algorithm
    2, of a member's own M. In PyTorch's hook they are what M lacks of the aggregate,
    which comes to the same only while all are there and weigh alike. Where we differ:
    means are weighted by examples; the first Q is uniform, not normal; a column of Q
    that is 0 begins anew, and one of P that is no direction gives way to an axis.
    """

    def __init__(self, size: int, found: Sequence[Matrix], dtype: DTypeLike) -> None:
        self._matrices = found
        self._rest = _between(size, found)
        self._error: FloatArray = np.zeros(size if found else 0, dtype)
        self.has_error = False
        self._corrected = self._error  # of this iteration
        self._left: list[FloatArray] = []  # P̂
        self._right: list[FloatArray] = []  # Q, of all
        self._own: list[FloatArray] = []  # Q, of our own M
        self.restart()

    @property
    def approximates(self) -> bool:
        """Whether there is any matrix."""
        return bool(self._matrices)

    @property
    def error(self) -> FloatArray:
        """What approximations left out so far, a mean over examples, of shape (n,)."""
        return self._error

    def restart(self) -> None:
        """Begin with a Q that all members draw alike, as some may not know the last."""
        dtype = self._error.dtype
        self._right = [drawn(matrix).astype(dtype) for matrix in self._matrices]

    def state_dict(self) -> dict[str, FloatArray]:
        """Return what a later session needs to go on, copied: the error, and Q."""
        return {"error": self._error.copy(), "right": _flat(self._right)}

    def load_state_dict(self, state: Mapping[str, FloatArray]) -> None:
        """Restore the result of :meth:`state_dict`; without an error there is none."""
        shapes = [(matrix.columns, matrix.rank) for matrix in self._matrices]
        self._right = _cut(state["right"], shapes)
        self._error[...] = state.get("error", 0)
        self.has_error = bool(self._error.any())

    def whole(self, gradients: FloatArray, examples: int) -> FloatArray:
        """Return gradients with all of the error, which is 0 from then on.

        Parameters
        ----------
        gradients : ndarray of shape (n,)
            Not changed.
        examples : int
            Over which they are sums.
        """
        whole: FloatArray = gradients + examples * self._error
        self._error.fill(0)
        self.has_error = False
        return whole

    def first(self, gradients: FloatArray, examples: int) -> FloatArray:
        """Return what is brought to the first sum.

        Parameters
        ----------
        gradients : ndarray of shape (n,)
            Our own, not changed; kept until :meth:`take`.
        examples : int
            Over which they are sums; with 0 it does not matter what is returned.

        Returns
        -------
        ndarray of shape (n_left,)
            M Q of each matrix, one behind the other.
        """
        self._corrected = gradients + examples * self._error
        parts = zip(self._matrices, self._right, strict=True)
        return _flat([matrix.of(self._corrected) @ right for matrix, right in parts])

    def second(self, total: FloatArray) -> list[FloatArray]:
        """Return what is brought to the second sum.

        Parameters
        ----------
        total : ndarray of shape (n_left,)
            The first sum.

        Returns
        -------
        list of ndarray of shape (n_right,), (n_rest,)
            Mᵀ P̂ of each matrix; what is no matrix.
        """
        shapes = [(matrix.rows, matrix.rank) for matrix in self._matrices]
        self._left = [orthonormal(left) for left in _cut(total, shapes)]
        parts = zip(self._matrices, self._left, strict=True)
        self._own = [matrix.of(self._corrected).T @ left for matrix, left in parts]
        return [_flat(self._own), _flat([self._corrected[span] for span in self._rest])]

    def take(self, totals: Sequence[FloatArray], examples: int) -> FloatArray:
        """Return the gradients of all, and remember what they lack of our own.

        Parameters
        ----------
        totals : sequence of ndarray of shape (n_right,), (n_rest,)
            The second sum.
        examples : int
            Over which our own gradients are sums.

        Returns
        -------
        gradients : ndarray of shape (n,)
            Newly allocated; a sum over all examples.
        """
        right, rest = totals
        gradients = np.empty_like(self._corrected)
        shapes = [(matrix.columns, matrix.rank) for matrix in self._matrices]
        self._right = _cut(right, shapes)
        for matrix, p, q in zip(self._matrices, self._left, self._right, strict=True):
            matrix.of(gradients)[...] = product(p, q)
        for span, values in zip(self._rest, _pieces(rest, self._rest), strict=True):
            gradients[span] = values
        if examples:
            self._remember(examples)
        self._draw_what_vanished()
        return gradients

    def _remember(self, examples: int) -> None:
        self.has_error = True
        for matrix, p, q in zip(self._matrices, self._left, self._own, strict=True):
            left_out = matrix.of(self._corrected) - product(p, q)
            matrix.of(self._error)[...] = left_out / examples

    def _draw_what_vanished(self) -> None:
        """Else a gradient that was 0 once would be 0 for ever."""
        for matrix, right in zip(self._matrices, self._right, strict=True):
            gone = ~right.any(axis=0)
            if gone.any():
                right[:, gone] = drawn(matrix)[:, gone]


def _between(size: int, found: Sequence[Matrix]) -> list[slice]:
    """Return the stretches in which no matrix lies."""
    starts = [0, *(matrix.span.stop for matrix in found)]
    stops = [*(matrix.start for matrix in found), size]
    pairs = zip(starts, stops, strict=True)
    return [slice(start, stop) for start, stop in pairs if start < stop]


def _flat(arrays: Sequence[FloatArray]) -> FloatArray:
    if not arrays:
        return np.zeros(0)
    return np.concatenate([array.ravel() for array in arrays])


def _pieces(vector: FloatArray, spans: Sequence[slice]) -> list[FloatArray]:
    stops = np.cumsum([span.stop - span.start for span in spans])
    return np.split(vector, stops[:-1]) if spans else []


def _cut(vector: FloatArray, shapes: Sequence[tuple[int, int]]) -> list[FloatArray]:
    """Return copies of what lies one behind the other."""
    stops = np.cumsum([math.prod(shape) for shape in shapes])
    pieces = np.split(vector, stops[:-1])
    return [p.reshape(shape).copy() for p, shape in zip(pieces, shapes, strict=True)]
