"""Activation functions: a formula and its gradient, forward beside backward.

The files beside this one hold the formulas by family, :mod:`.table` finds one by its
name. At kinks the derivative is that of one of the sides.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from daskdl.arrays.namespace import FloatArray, array_namespace

Forward = Callable[[FloatArray, FloatArray], None]
Backward = Callable[[FloatArray, FloatArray, FloatArray, FloatArray], None]
RandomForward = Callable[[FloatArray, FloatArray, np.random.Generator], None]


@dataclass(frozen=True)
class ActivationFunction:
    """A function of pre-activations and its gradient.

    Parameters
    ----------
    name : str
        In lower case.
    reads_preout : bool
        Whether the gradient is computed from the pre-activations. Where not, the
        forward pass may overwrite them: ``forward(preout, out=preout)``.
    """

    name: str
    _forward: Forward
    _backward: Backward
    reads_preout: bool = False
    _random_forward: RandomForward | None = None

    @property
    def draws_random_numbers(self) -> bool:
        """True if the forward pass of training takes random numbers."""
        return self._random_forward is not None

    def forward(
        self,
        preout: FloatArray,
        *,
        out: FloatArray | None = None,
        rng: np.random.Generator | None = None,
    ) -> FloatArray:
        """Compute the function.

        Parameters
        ----------
        preout : ndarray of shape (..., n), float
            Softmax works along the last axis, the others on each element.
        out : ndarray like preout, optional
            Overwritten; may be `preout` itself unless `reads_preout`. By default a
            new array.
        rng : numpy.random.Generator, optional
            Given in training only, and used if `draws_random_numbers`.

        Returns
        -------
        out : ndarray
        """
        out = array_namespace(preout).empty_like(preout) if out is None else out
        if rng is not None and self._random_forward is not None:
            self._random_forward(preout, out, rng)
        else:
            self._forward(preout, out)
        return out

    def backward(
        self,
        grad_output: FloatArray,
        preout: FloatArray,
        output: FloatArray,
        *,
        out: FloatArray | None = None,
    ) -> FloatArray:
        """Compute the gradient in the pre-activations.

        Parameters
        ----------
        grad_output : ndarray of shape (..., n), float
            Gradient of the loss in the output.
        preout, output : ndarray like grad_output
            What :meth:`forward` saw and returned. Not changed.
        out : ndarray like grad_output, optional
            Overwritten; may be `grad_output` itself. By default a new array.

        Returns
        -------
        out : ndarray
        """
        if out is None:
            out = array_namespace(output).empty_like(grad_output)
        self._backward(grad_output, preout, output, out)
        return out


def as_float32(constant: float) -> float:
    """Return `constant` rounded to float32, for quirks of float64 networks."""
    return float(np.float32(constant))


def either(condition: Any, yes: Any, no: Any, like: FloatArray) -> Any:
    """Return `yes` where the condition holds, else `no`, as an array like `condition`.

    Its dtype is that of `like`, also for two plain numbers.
    """
    xp = array_namespace(like)
    return xp.where(condition, xp.asarray(yes, like.dtype), xp.asarray(no, like.dtype))
