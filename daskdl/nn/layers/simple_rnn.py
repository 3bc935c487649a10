"""The simplest recurrent layer: its output is part of the next step's input."""

from typing import Literal

import numpy as np

from daskdl.arrays.namespace import FloatArray
from daskdl.arrays.workspace import Workspace
from daskdl.kernels.simple_rnn import simple_rnn_backward, simple_rnn_forward
from daskdl.kernels.simple_rnn.weights import SimpleRnnWeights, take_trace
from daskdl.nn.activations.table import activation_function
from daskdl.nn.conf.input_type import InputType
from daskdl.nn.conf.parameters import Parameter, gain
from daskdl.nn.conf.values import Real
from daskdl.nn.layers.kept_steps import KeptSteps
from daskdl.nn.layers.layer import works_for
from daskdl.nn.layers.recurrent import RecurrentConf, RecurrentLayer, check_state
from daskdl.nn.masks import check_step_mask


class SimpleRnn(RecurrentConf):
    """A recurrent layer without gates: ``h[t] = activation(x[t] W + h[t-1] RW + b)``.

    Parameters
    ----------
    activation : activation, default "tanh"
        Not taken from the network.
    weight_init_recurrent : weight init, optional
        How RW is drawn; None as W.
    has_layer_norm : bool
        Whether both products are normalized over the features of each example, with a
        gain for each.
    gain_init : float, optional
        Initial gain; None as the network says, 1.

    References
    ----------
    Ba, Kiros and Hinton, *Layer Normalization*, 2016, with two gains and one bias.
    """

    type: Literal["simple_rnn"] = "simple_rnn"
    has_layer_norm: bool = False
    gain_init: Real | None = None

    def parameters(self, input_type: InputType) -> tuple[Parameter, ...]:
        """Return W (n_in, n_out), RW (n_out, n_out), b and perhaps g (2 n_out,).

        The first half of g is the gain of the input's product.
        """
        n_in = self.inferred_n_in(input_type)
        parameters = (
            Parameter("W", (n_in, self.n_out)),
            Parameter("RW", (self.n_out, self.n_out)),
            Parameter("b", (self.n_out,), "bias"),
        )
        if not self.has_layer_norm:
            return parameters
        return (*parameters, gain((2 * self.n_out,), self.quirks))


@works_for(SimpleRnn)
class SimpleRnnLayer(RecurrentLayer[SimpleRnn]):
    """A recurrent layer without gates.

    Steps that the mask drops come out as 0, and leave the output as it is for the step
    behind them.
    """

    def __init__(
        self, conf: SimpleRnn, input_type: InputType, name: str, workspace: Workspace
    ) -> None:
        super().__init__(conf, input_type, name, workspace)
        self._activation = activation_function(conf.activation, conf.quirks)
        self._resets = "dropped_steps_reset_state" in conf.quirks
        self._state: FloatArray | None = None

    def initialize(self, rng: np.random.Generator) -> None:
        """Draw W and RW with fans n_in and n_out; biases and gains have options."""
        n_in, n_out = self.params["W"].shape
        self._draw("W", n_in, n_out, rng)
        self._draw("RW", n_out, n_out, rng)
        self.params["b"].fill(self._given("bias_init", self.conf.bias_init))
        if "g" in self.params:
            self.params["g"].fill(self._given("gain_init", self.conf.gain_init))

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
        check_step_mask(mask, x, self.who)
        self._x = x
        self._mask = mask if self._resets else None
        self._kept = KeptSteps(
            None if self._resets else mask, self.name, self._workspace
        )
        output: FloatArray = self._buffer(
            "output", (*x.shape[:2], self.conf.n_out), x.dtype
        )
        state = self._carried_state(len(x))
        self._run(out=output, state=state)
        if self.carries_state:
            self.state = self._kept.last(self._trace.hidden, state)
        return output

    def backward(self, grad_out: FloatArray) -> FloatArray | None:
        """Compute the gradients through all time steps; see :meth:`Layer.backward`."""
        has_state = self._state is not None
        if has_state and "gradients_begin_with_zeros" in self.conf.quirks:
            # Though the layers above saw what began with the state.
            self._run(out=None, state=None)
        grad_x = None
        if self.needs_grad_x:
            grad_x = self._buffer("grad_x", self._x.shape, grad_out.dtype)
        gathered = self._kept.room("grad_x", grad_x)
        grads = self._kept.gathered("grad_out", grad_out)

        def backward(steps: slice) -> None:
            simple_rnn_backward(
                grads[:, steps],
                _weights(self.params),
                self._activation,
                self._trace.part(steps),
                self._workspace,
                gradients=_weights(self.gradients),
                grad_x=None if gathered is None else gathered[:, steps],
                mask=None if self._mask is None else self._mask[:, steps],
                state=self._trace.hidden[steps.start - 1]
                if steps.start
                else self._state,
            )

        self._backward_in_stretches(backward, grad_out.shape[1])
        return self._kept.scatter(gathered, grad_x)

    def _run(self, *, out: FloatArray | None, state: FloatArray | None) -> None:
        self._state = state
        self._trace = take_trace(
            self._workspace,
            self.name,
            self._x.shape,
            self.conf.n_out,
            self._x.dtype,
            is_normalized=self.conf.has_layer_norm,
        )
        gathered = self._kept.room("output", out)
        simple_rnn_forward(
            self._kept.gathered("x", self._x),
            _weights(self.params),
            self._activation,
            self._trace,
            self._workspace,
            out=gathered,
            mask=self._mask,
            state=state,
        )
        self._kept.scatter(gathered, out)

    def _carried_state(self, batch: int) -> FloatArray | None:
        if not self.carries_state or self.state is None:
            return None
        state: FloatArray = self.state
        check_state(self.who, batch, len(state))
        return state


def _weights(arrays: dict[str, FloatArray]) -> SimpleRnnWeights:
    """Return parameters or gradients as the kernels take them: views."""
    gains = arrays.get("g")
    return SimpleRnnWeights(
        arrays["W"],
        arrays["RW"],
        arrays["b"],
        None if gains is None else gains.reshape(2, -1),
    )
