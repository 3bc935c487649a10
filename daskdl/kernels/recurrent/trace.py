"""What a recurrent kernel takes besides arrays, and what it keeps for its gradient."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Protocol

from numpy.typing import DTypeLike

from daskdl.arrays.namespace import FloatArray
from daskdl.arrays.workspace import Workspace


class ActivationPair(Protocol):
    """An element-wise function and its gradient; see :mod:`daskdl.nn.activations`."""

    @property
    def name(self) -> str:
        """DL4J's name in lower case."""

    def forward(
        self, preout: FloatArray, *, out: FloatArray | None = None
    ) -> FloatArray:
        """Return the function of `preout`, an array like it; `out` if it is given."""

    def backward(
        self,
        grad_output: FloatArray,
        preout: FloatArray,
        output: FloatArray,
        *,
        out: FloatArray | None = None,
    ) -> FloatArray:
        """Return the gradient in `preout`, an array like it.

        `grad_output` and `output` have the same shape; `out` may be `grad_output`.
        """


@dataclass(frozen=True)
class LstmTrace:
    """The arrays of an LSTM's forward pass, time first so that a step is contiguous.

    Parameters
    ----------
    x : ndarray of shape (time, batch, n_in)
    preout, gates : ndarray of shape (time, batch, 4 n)
        Before and after the gates' activations. One array where their gradients do not
        read what was before.
    cells, active_cells, hidden : ndarray of shape (time, batch, n)
        c, activation(c) and h.
    """

    x: FloatArray
    preout: FloatArray
    gates: FloatArray
    cells: FloatArray
    active_cells: FloatArray
    hidden: FloatArray

    def part(self, steps: slice) -> "LstmTrace":
        """Return a stretch of time steps, as views."""
        gates = self.gates[steps]
        is_one = self.preout is self.gates
        return LstmTrace(
            self.x[steps],
            gates if is_one else self.preout[steps],
            gates,
            self.cells[steps],
            self.active_cells[steps],
            self.hidden[steps],
        )


def take_trace(
    workspace: Workspace,
    owner: Hashable,
    x_shape: tuple[int, ...],
    n_out: int,
    dtype: DTypeLike,
    *,
    keeps_preout: bool,
) -> LstmTrace:
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
    keeps_preout : bool
        Whether the gradient of an activation is computed from what was before it.
    """
    batch, steps, n_in = x_shape

    def take(name: str, width: int) -> FloatArray:
        array: FloatArray = workspace.take(
            (owner, "lstm", name), (steps, batch, width), dtype
        )
        return array

    gates = take("gates", 4 * n_out)
    return LstmTrace(
        x=take("x", n_in),
        preout=take("preout", 4 * n_out) if keeps_preout else gates,
        gates=gates,
        cells=take("cells", n_out),
        active_cells=take("active_cells", n_out),
        hidden=take("hidden", n_out),
    )
