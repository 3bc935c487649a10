"""The parameters of a simple recurrent layer, and what its forward pass leaves."""

from collections.abc import Hashable
from dataclasses import dataclass

from numpy.typing import DTypeLike

from daskdl.arrays.namespace import FloatArray
from daskdl.arrays.workspace import Workspace


@dataclass(frozen=True)
class SimpleRnnWeights:
    """The parameters of a simple recurrent layer, or the arrays for their gradients.

    Parameters
    ----------
    weight : ndarray of shape (n_in, n)
        Of the input.
    recurrent_weight : ndarray of shape (n, n)
        Of the previous output.
    bias : ndarray of shape (n,)
        Of both.
    gains : ndarray of shape (2, n), optional
        Of the layer normalization of the input's and of the output's products; None
        without normalization.
    """

    weight: FloatArray
    recurrent_weight: FloatArray
    bias: FloatArray
    gains: FloatArray | None = None


@dataclass(frozen=True)
class NormTrace:
    """What layer normalization leaves for its gradient, time first.

    Parameters
    ----------
    normalized : ndarray of shape (time, batch, n)
        Before the gains.
    deviation : ndarray of shape (time, batch, 1)
        What was divided by.
    """

    normalized: FloatArray
    deviation: FloatArray


@dataclass(frozen=True)
class SimpleRnnTrace:
    """The arrays of a forward pass, time first so that a step is contiguous.

    Parameters
    ----------
    x : ndarray of shape (time, batch, n_in)
    preout, hidden : ndarray of shape (time, batch, n)
        Before and after the activation.
    norms : tuple of two NormTrace
        Of the products of the input and of the previous output; empty without layer
        normalization.
    """

    x: FloatArray
    preout: FloatArray
    hidden: FloatArray
    norms: tuple[NormTrace, ...]

    def part(self, steps: slice) -> "SimpleRnnTrace":
        """Return a stretch of time steps, as views."""
        norms = tuple(
            NormTrace(norm.normalized[steps], norm.deviation[steps])
            for norm in self.norms
        )
        return SimpleRnnTrace(
            self.x[steps], self.preout[steps], self.hidden[steps], norms
        )


def take_trace(
    workspace: Workspace,
    owner: Hashable,
    x_shape: tuple[int, ...],
    n_out: int,
    dtype: DTypeLike,
    *,
    is_normalized: bool,
) -> SimpleRnnTrace:
    """Return the trace of `owner` for input of shape (batch, time, n_in).

    Parameters
    ----------
    workspace : Workspace
        Lends the arrays.
    owner : hashable
        Their key.
    x_shape : tuple of int
        (batch, time, n_in).
    n_out : int
        Width of the output.
    dtype : dtype
        Of all arrays.
    is_normalized : bool
        Whether there is layer normalization.
    """
    batch, steps, n_in = x_shape

    def take(name: str, width: int) -> FloatArray:
        array: FloatArray = workspace.take(
            (owner, "simple_rnn", name), (steps, batch, width), dtype
        )
        return array

    def norm(name: str) -> NormTrace:
        return NormTrace(take(f"{name} normalized", n_out), take(f"{name} std", 1))

    return SimpleRnnTrace(
        x=take("x", n_in),
        preout=take("preout", n_out),
        hidden=take("hidden", n_out),
        norms=(norm("input"), norm("output")) if is_normalized else (),
    )
