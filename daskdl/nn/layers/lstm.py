"""The long short-term memory layer."""

from typing import Literal, TypeVar

import numpy as np

from daskdl.arrays.namespace import FloatArray
from daskdl.arrays.workspace import Workspace
from daskdl.kernels.recurrent.weights import LstmState
from daskdl.nn.conf.input_type import InputType
from daskdl.nn.conf.parameters import Parameter
from daskdl.nn.layers.layer import works_for
from daskdl.nn.layers.recurrent import GatedConf, GatedLayer, Lstm, check_state
from daskdl.nn.masks import check_step_mask


class LSTM(GatedConf):
    """Long short-term memory without peepholes.

    Parameters
    ----------
    activation : activation, default "tanh"
        Of block input and cell output; not taken from the network.
    gate_activation : activation, default "sigmoid"
        Of the three gates.
    forget_gate_bias_init : float, default 1.0
        Initial bias of the forget gate; the other biases begin at 0.
    weight_init_recurrent : weight init, optional
        How RW is drawn; None as W.
    """

    type: Literal["lstm"] = "lstm"

    def parameters(self, input_type: InputType) -> tuple[Parameter, ...]:
        """Return W (n_in, 4 n_out), RW (n_out, 4 n_out) and b (4 n_out,)."""
        return self.lstm_parameters(input_type)


L = TypeVar("L", bound=GatedConf)


class OneWayLstmLayer(GatedLayer[L]):
    """An LSTM from the first step to the last, with or without peepholes.

    Steps that a mask drops come out as 0, and leave output and cell as they are for
    the step behind them.
    """

    _masks_gradient = False

    def __init__(
        self, conf: L, input_type: InputType, name: str, workspace: Workspace
    ) -> None:
        super().__init__(conf, input_type, name, workspace)
        self._lstm = Lstm(conf, name, workspace, masks_gradient=self._masks_gradient)
        self._uses_mask = "lstm_ignores_masks" not in conf.quirks
        self._mask: FloatArray | None = None
        self._began_with_state = False

    def use_mask(self) -> None:
        """Drop the steps that the mask drops, from now on if not before."""
        self._uses_mask = True

    def initialize(self, rng: np.random.Generator) -> None:
        """Draw W and RW; the forget gate's bias is `forget_gate_bias_init`."""
        self._initialize_lstm(rng)

    def forward(
        self,
        x: FloatArray,
        *,
        training: bool,
        mask: FloatArray | None = None,
        rng: np.random.Generator | None = None,
    ) -> FloatArray:
        """Compute the output, (batch, time, n_out); see :meth:`Layer.forward`."""
        self._check_input(x)
        self._x = x
        self._mask = mask if self._uses_mask else None
        check_step_mask(self._mask, x, self.who)
        output: FloatArray = self._buffer(
            "output", (*x.shape[:2], self.conf.n_out), x.dtype
        )
        state = self._carried_state(len(x))
        self._began_with_state = state is not None
        self._lstm.forward(
            x, self._weights(self.params), out=output, mask=self._mask, state=state
        )
        if self.carries_state:
            self.state = self._lstm.last_state
        return output

    def backward(self, grad_out: FloatArray) -> FloatArray | None:
        """Compute the gradients through all time steps; see :meth:`Layer.backward`."""
        weights = self._weights(self.params)
        if self._began_with_state and "gradients_begin_with_zeros" in self.conf.quirks:
            # Though the layers above saw what began with the state.
            self._lstm.forward(self._x, weights, out=None, mask=self._mask)
        grad_x = None
        if self.needs_grad_x:
            grad_x = self._buffer("grad_x", self._x.shape, grad_out.dtype)
        return self._lstm.backward(
            grad_out,
            weights,
            self._weights(self.gradients),
            grad_x=grad_x,
            mask=self._mask,
            stretches=self._backward_in_stretches,
        )

    def _carried_state(self, batch: int) -> LstmState | None:
        if not self.carries_state or self.state is None:
            return None
        state: LstmState = self.state
        check_state(self.who, batch, len(state.hidden))
        return state


@works_for(LSTM)
class LstmLayer(OneWayLstmLayer[LSTM]):
    """An LSTM without peepholes."""
