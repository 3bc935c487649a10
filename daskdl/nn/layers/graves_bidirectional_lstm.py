"""The layer of two long short-term memories with peepholes, one from each end."""

from typing import ClassVar, Literal

import numpy as np

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.arrays.workspace import Workspace
from daskdl.errors import OptionError
from daskdl.nn.conf.input_type import InputType
from daskdl.nn.conf.parameters import Parameter
from daskdl.nn.layers.graves_lstm import N_PEEPHOLES
from daskdl.nn.layers.layer import works_for
from daskdl.nn.layers.recurrent import GatedConf, GatedLayer, Lstm
from daskdl.nn.masks import check_step_mask


class GravesBidirectionalLSTM(GatedConf):
    """Two LSTMs with peepholes, from the first step and from the last; their sum.

    Parameters
    ----------
    activation : activation, default "tanh"
        Of block input and cell output; not taken from the network.
    gate_activation : activation, default "sigmoid"
        Of the three gates.
    forget_gate_bias_init : float, default 1.0
        Initial bias of the forget gate; the other biases begin at 0.
    weight_init_recurrent : weight init, optional
        How RWF and RWB are drawn; None as the others.
    """

    takes_network_dropout: ClassVar[bool] = False
    ignores_weight_noise: ClassVar[bool] = True

    type: Literal["graves_bidirectional_lstm"] = "graves_bidirectional_lstm"

    @property
    def reads_whole_series(self) -> bool:
        """True: one of the two begins with the last step."""
        return True

    def parameters(self, input_type: InputType) -> tuple[Parameter, ...]:
        """Return WF, RWF, bF, WB, RWB and bB: each like those of GravesLSTM."""
        return (
            *self.lstm_parameters(input_type, "F", n_peepholes=N_PEEPHOLES),
            *self.lstm_parameters(input_type, "B", n_peepholes=N_PEEPHOLES),
        )


@works_for(GravesBidirectionalLSTM)
class GravesBidirectionalLstmLayer(GatedLayer[GravesBidirectionalLSTM]):
    """The sum of two LSTMs with peepholes, one of which runs through time backwards.

    Steps that the mask drops come out as 0, and leave the states as they are.
    """

    def __init__(
        self,
        conf: GravesBidirectionalLSTM,
        input_type: InputType,
        name: str,
        workspace: Workspace,
    ) -> None:
        super().__init__(conf, input_type, name, workspace)
        self._onwards = Lstm(conf, f"{name}.F", workspace, masks_gradient=True)
        self._backwards = Lstm(conf, f"{name}.B", workspace, masks_gradient=True)

    def initialize(self, rng: np.random.Generator) -> None:
        """Draw the weights of both; see :class:`GravesBidirectionalLSTM`."""
        self._initialize_lstm(rng, "F")
        self._initialize_lstm(rng, "B")

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
        refuse_carrying(self.who, self.carries_state)
        check_step_mask(mask, x, self.who)
        self._mask = mask
        self._x_shape = x.shape
        shape = (*x.shape[:2], self.conf.n_out)
        output: FloatArray = self._buffer("output", shape, x.dtype)
        other = self._like("output backwards", output)
        self._onwards.forward(x, self._weights(self.params, "F"), out=output, mask=mask)
        self._backwards.forward(
            x[:, ::-1],
            self._weights(self.params, "B"),
            out=other[:, ::-1],
            mask=_reversed(mask),
        )
        output += other
        return output

    def backward(self, grad_out: FloatArray) -> FloatArray | None:
        """Compute the gradients through all time steps; see :meth:`Layer.backward`."""
        grad_x = grad_other = None
        if self.needs_grad_x:
            grad_x = self._buffer("grad_x", self._x_shape, grad_out.dtype)
            grad_other = self._like("grad_x backwards", grad_x)
        self._onwards.backward(
            grad_out,
            self._weights(self.params, "F"),
            self._weights(self.gradients, "F"),
            grad_x=grad_x,
            mask=self._mask,
        )
        self._backwards.backward(
            grad_out[:, ::-1],
            self._weights(self.params, "B"),
            self._weights(self.gradients, "B"),
            grad_x=None if grad_other is None else grad_other[:, ::-1],
            mask=_reversed(self._mask),
        )
        if grad_x is not None and grad_other is not None:
            array_namespace(grad_x).add(grad_x, grad_other, out=grad_x)
        return grad_x


def refuse_carrying(who: str, carries_state: bool) -> None:
    """Refuse stretches of series: the way back begins with the last step of all.

    Raises
    ------
    OptionError
        If state is to be carried over.
    """
    if carries_state:
        raise OptionError(
            f"{who}: must get whole series because it reads them from both ends, got a "
            "stretch of them. Use backprop_type 'standard', and output() in place of "
            "rnn_time_step()."
        )


def _reversed(mask: FloatArray | None) -> FloatArray | None:
    return None if mask is None else mask[:, ::-1]
