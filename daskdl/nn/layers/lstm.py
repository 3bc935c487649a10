"""The long short-term memory layer."""

from typing import Literal

import numpy as np

from daskdl.arrays.namespace import FloatArray, to_device
from daskdl.arrays.workspace import Workspace
from daskdl.kernels.recurrent import lstm_backward, lstm_forward
from daskdl.kernels.recurrent.trace import take_trace
from daskdl.nn.activations.table import activation_function
from daskdl.nn.conf.activations import AnyActivation
from daskdl.nn.conf.input_type import InputType, Recurrent
from daskdl.nn.conf.layer import (
    WeightLayerConf,
    refuse_input,
)
from daskdl.nn.conf.names import (
    WeightInitLiteral,
)
from daskdl.nn.conf.parameters import Parameter
from daskdl.nn.conf.values import (
    Real,
)
from daskdl.nn.initializers import initialize
from daskdl.nn.layers.layer import Layer


class LSTM(WeightLayerConf):
    """Long short-term memory without peepholes.

    Parameters
    ----------
    activation : str, default "tanh"
        Of block input and cell output; not taken from the network.
    gate_activation : str, default "sigmoid"
        Of the three gates.
    forget_gate_bias_init : float, default 1.0
        Initial bias of the forget gate; the other biases begin at 0.
    """

    type: Literal["lstm"] = "lstm"
    activation: AnyActivation = "tanh"
    gate_activation: AnyActivation = "sigmoid"
    forget_gate_bias_init: Real = 1.0

    def output_type(self, input_type: InputType) -> Recurrent:
        """Return time series of `n_out`."""
        if not isinstance(input_type, Recurrent):
            raise refuse_input(self, "time series (Recurrent input)", input_type)
        self.inferred_n_in(input_type)
        return input_type.replaced(size=self.n_out)

    def parameters(self, input_type: InputType) -> tuple[Parameter, ...]:
        """Return W (n_in, 4 n_out), RW (n_out, 4 n_out) and b (4 n_out,)."""
        n_in = self.inferred_n_in(input_type)
        gates = 4 * self.n_out
        return (
            Parameter("W", (n_in, gates)),
            Parameter("RW", (self.n_out, gates)),
            Parameter("b", (gates,), "bias"),
        )


class LstmLayer(Layer[LSTM]):
    """An LSTM without peepholes that starts every series from zero states.

    A mask passes by without effect, as in DL4J: padding behind a series changes
    nothing that is kept, padding in front of it does.
    """

    def __init__(
        self, conf: LSTM, input_type: InputType, name: str, workspace: Workspace
    ) -> None:
        super().__init__(conf, input_type, name, workspace)
        self._activation = activation_function(conf.activation)
        self._gate_activation = activation_function(conf.gate_activation)

    def initialize(self, rng: np.random.Generator) -> None:
        """Draw W and RW with DL4J's fans n_out and n_in + n_out; set the biases.

        The forget gate's bias is `forget_gate_bias_init`, the others are 0.
        """
        n_in, n_out = self.params["W"].shape[0], self.conf.n_out
        scheme: WeightInitLiteral = self._given("weight_init", self.conf.weight_init)
        for name in ("W", "RW"):
            weight = self.params[name]
            drawn = initialize(scheme, weight.shape, n_out, n_in + n_out, rng)
            weight[...] = to_device(drawn, like=weight)
        bias = self.params["b"]
        bias.fill(0)
        bias[n_out : 2 * n_out] = self.conf.forget_gate_bias_init

    def forward(
        self,
        x: FloatArray,
        *,
        training: bool,
        mask: FloatArray | None = None,
        rng: np.random.Generator | None = None,
    ) -> FloatArray:
        """Compute the output of each step; see :meth:`Layer.forward`."""
        self._check_input(x)
        n_out = self.conf.n_out
        self._x_shape = x.shape
        self._trace = take_trace(
            self._workspace,
            self.name,
            x.shape,
            n_out,
            x.dtype,
            keeps_preout=self._activation.reads_preout
            or self._gate_activation.reads_preout,
        )
        return lstm_forward(
            x,
            self.params["W"],
            self.params["RW"],
            self.params["b"],
            self._activation,
            self._gate_activation,
            self._trace,
            self._workspace,
            out=self._buffer("output", (*x.shape[:2], n_out), x.dtype),
        )

    def backward(self, grad_out: FloatArray) -> FloatArray | None:
        """Compute the gradients through all time steps; see :meth:`Layer.backward`."""
        grad_x = None
        if self.needs_grad_x:
            grad_x = self._buffer("grad_x", self._x_shape, grad_out.dtype)
        grad_x = lstm_backward(
            grad_out,
            self.params["W"],
            self.params["RW"],
            self._activation,
            self._gate_activation,
            self._trace,
            self._workspace,
            grad_weight=self.gradients["W"],
            grad_recurrent_weight=self.gradients["RW"],
            grad_bias=self.gradients["b"],
            grad_x=grad_x,
        )
        return grad_x
