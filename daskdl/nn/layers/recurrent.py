"""What the recurrent layers share: their configuration, and one LSTM at work."""

from collections.abc import Callable, Hashable
from typing import TypeAlias, TypeVar

import numpy as np

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.arrays.workspace import Workspace
from daskdl.errors import ShapeError
from daskdl.kernels.recurrent import lstm_backward, lstm_forward
from daskdl.kernels.recurrent.trace import ActivationPair, take_trace
from daskdl.kernels.recurrent.weights import LstmState, LstmWeights
from daskdl.nn.activations.function import ActivationFunction
from daskdl.nn.activations.table import activation_function
from daskdl.nn.conf.activations import AnyActivation
from daskdl.nn.conf.input_type import InputType, Recurrent
from daskdl.nn.conf.layer import WeightLayerConf
from daskdl.nn.conf.parameters import Parameter
from daskdl.nn.conf.values import Real
from daskdl.nn.conf.weight_inits import AnyWeightInit
from daskdl.nn.initializers import draw_weights
from daskdl.nn.layers.entering import series_in
from daskdl.nn.layers.kept_steps import KeptSteps
from daskdl.nn.layers.layer import Layer


class RecurrentConf(WeightLayerConf):
    """A layer whose output at a step depends on that of the step before.

    Parameters
    ----------
    activation : activation, default "tanh"
        Not taken from the network.
    weight_init_recurrent : weight init, optional
        How the weights between the steps are drawn; None as the others.
    """

    activation: AnyActivation = "tanh"
    weight_init_recurrent: AnyWeightInit | None = None

    def output_type(self, input_type: InputType) -> Recurrent:
        """Return time series of `n_out`."""
        series = series_in(self, input_type)
        self.inferred_n_in(series)
        return series.replaced(size=self.n_out)


class GatedConf(RecurrentConf):
    """A long short-term memory of any kind.

    Parameters
    ----------
    activation : activation, default "tanh"
        Of block input and cell output; not taken from the network.
    gate_activation : activation, default "sigmoid"
        Of the three gates.
    forget_gate_bias_init : float, default 1.0
        Initial bias of the forget gate; the other biases begin at 0.
    """

    gate_activation: AnyActivation = "sigmoid"
    forget_gate_bias_init: Real = 1.0

    def lstm_parameters(
        self, input_type: InputType, suffix: str = "", *, n_peepholes: int = 0
    ) -> tuple[Parameter, ...]:
        """Return W (n_in, 4 n_out), RW (n_out, 4 n_out + n_peepholes), b (4 n_out,).

        Parameters
        ----------
        input_type : InputType
            What the layer gets.
        suffix : str
            Ends the names.
        n_peepholes : int
            Columns that RW has behind those of the gates.
        """
        n_in = self.inferred_n_in(input_type)
        gates = 4 * self.n_out
        return (
            Parameter(f"W{suffix}", (n_in, gates)),
            Parameter(f"RW{suffix}", (self.n_out, gates + n_peepholes)),
            Parameter(f"b{suffix}", (gates,), "bias"),
        )


# What computes gradients in stretches: of a function of one, and the number of steps.
InStretches: TypeAlias = Callable[[Callable[[slice], object], int], None]

G = TypeVar("G", bound=GatedConf)
R = TypeVar("R", bound=RecurrentConf)


class RecurrentLayer(Layer[R]):
    """A recurrent layer at work."""

    def _draw(
        self, name: str, fan_in: float, fan_out: float, rng: np.random.Generator
    ) -> None:
        """Draw initial weights; those between the steps have a rule of their own."""
        rule = self.conf.weight_init_recurrent
        if name.startswith("RW") and rule is not None:
            weights, quirks = self.params[name], self.conf.quirks
            draw_weights(rule, fan_in, fan_out, rng, out=weights, quirks=quirks)
        else:
            super()._draw(name, fan_in, fan_out, rng)

    def _backward_in_stretches(
        self, backward: Callable[[slice], object], n_steps: int
    ) -> None:
        """Sum the gradients of stretches of time steps between which none flows.

        Parameters
        ----------
        backward : function of a slice of time steps
            Overwrites `gradients` with those of a stretch, which takes the state in
            front of it for a constant.
        n_steps : int
            All of them.
        """
        first, *others = stretches_of(n_steps, self.back_length)
        backward(first)
        for steps in others:
            so_far = {
                name: self._copied(("summed", name), array)
                for name, array in self.gradients.items()
            }
            backward(steps)
            for name, array in self.gradients.items():
                array += so_far[name]

    def _copied(self, what: Hashable, array: FloatArray) -> FloatArray:
        copy: FloatArray = self._buffer(what, array.shape, array.dtype)
        copy[...] = array
        return copy


def stretches_of(n_steps: int, length: int | None) -> list[slice]:
    """Return stretches of `length` time steps, the last may be shorter; None is all.

    From the first step on: padding behind a series changes none of the others.
    """
    length = length or n_steps
    return [slice(at, min(at + length, n_steps)) for at in range(0, n_steps, length)]


def whole(backward: Callable[[slice], object], n_steps: int) -> None:
    """Call a function with all time steps."""
    backward(slice(0, n_steps))


class GatedLayer(RecurrentLayer[G]):
    """A layer of one or two LSTMs."""

    def _initialize_lstm(self, rng: np.random.Generator, suffix: str = "") -> None:
        """Draw W and RW with the fans n_out and n_in + n_out; set the biases.

        The forget gate's bias is `forget_gate_bias_init`, the others are 0.
        """
        n_in, n_out = self.params[f"W{suffix}"].shape[0], self.conf.n_out
        for name in (f"W{suffix}", f"RW{suffix}"):
            self._draw(name, n_out, n_in + n_out, rng)
        bias = self.params[f"b{suffix}"]
        bias.fill(0)
        bias[n_out : 2 * n_out] = self.conf.forget_gate_bias_init

    def _weights(self, arrays: dict[str, FloatArray], suffix: str = "") -> LstmWeights:
        """Return parameters or gradients as the kernels take them: views."""
        recurrent = arrays[f"RW{suffix}"]
        gates = 4 * self.conf.n_out
        return LstmWeights(
            arrays[f"W{suffix}"],
            recurrent[:, :gates],
            arrays[f"b{suffix}"],
            recurrent[:, gates:] if recurrent.shape[1] > gates else None,
        )


class Lstm:
    """One LSTM over whole series: forward, and backward from what forward left.

    Parameters
    ----------
    conf : GatedConf
        Activations and width.
    name : str
        Key of its buffers.
    workspace : Workspace
        Lends them.
    masks_gradient : bool
        Whether steps that reset the state send no gradient back.
    """

    def __init__(
        self, conf: GatedConf, name: str, workspace: Workspace, *, masks_gradient: bool
    ) -> None:
        self._activation = activation_function(conf.activation, conf.quirks)
        self._gate_activation = activation_function(conf.gate_activation, conf.quirks)
        self._gate_pair = _of_each_gate(self._gate_activation, conf.n_out)
        self._n_out = conf.n_out
        self._name = name
        self._workspace = workspace
        self._masks_gradient = masks_gradient
        self._resets = "dropped_steps_reset_state" in conf.quirks

    def forward(
        self,
        x: FloatArray,
        weights: LstmWeights,
        *,
        out: FloatArray | None,
        mask: FloatArray | None = None,
        state: LstmState | None = None,
    ) -> None:
        """Write the output; see :func:`daskdl.kernels.recurrent.lstm_forward`.

        Steps that the mask drops come out as 0, and leave the state as it is.
        """
        self._before = state
        self._kept = KeptSteps(
            None if self._resets else mask, self._name, self._workspace
        )
        gathered = self._kept.room("output", out)
        self._trace = take_trace(
            self._workspace,
            self._name,
            x.shape,
            self._n_out,
            x.dtype,
            keeps_preout=self._activation.reads_preout
            or self._gate_activation.reads_preout,
        )
        lstm_forward(
            self._kept.gathered("x", x),
            weights,
            self._activation,
            self._gate_pair,
            self._trace,
            self._workspace,
            out=gathered,
            mask=mask if self._resets else None,
            state=state,
        )
        self._kept.scatter(gathered, out)

    def backward(
        self,
        grad_out: FloatArray,
        weights: LstmWeights,
        gradients: LstmWeights,
        *,
        grad_x: FloatArray | None,
        mask: FloatArray | None = None,
        stretches: InStretches = whole,
    ) -> FloatArray | None:
        """Write the gradients; see :func:`daskdl.kernels.recurrent.lstm_backward`.

        Parameters
        ----------
        grad_out, weights, gradients, grad_x, mask
            Of all time steps.
        stretches : function of a function and of the number of steps
            Calls it with each stretch, which takes what is in front of it for a
            constant.
        """
        gathered = self._kept.room("grad_x", grad_x)
        grads = self._kept.gathered("grad_out", grad_out)
        mask = mask if self._resets else None

        def backward(steps: slice) -> None:
            lstm_backward(
                grads[:, steps],
                weights,
                self._activation,
                self._gate_pair,
                self._trace.part(steps),
                self._workspace,
                gradients=gradients,
                grad_x=None if gathered is None else gathered[:, steps],
                mask=None if mask is None else mask[:, steps],
                masks_gradient=self._masks_gradient,
                state=self._state_before(steps.start),
            )

        stretches(backward, grad_out.shape[1])
        return self._kept.scatter(gathered, grad_x)

    def _state_before(self, step: int) -> LstmState | None:
        if not step:
            return self._before
        return LstmState(self._trace.hidden[step - 1], self._trace.cells[step - 1])

    @property
    def last_state(self) -> LstmState:
        """A copy of the state behind the last step that is kept."""
        state, trace = self._before, self._trace
        hidden, cell = (None, None) if state is None else (state.hidden, state.cell)
        return LstmState(
            self._kept.last(trace.hidden, hidden), self._kept.last(trace.cells, cell)
        )


def check_state(who: str, batch: int, state_batch: int) -> None:
    """Refuse a state that was left by a minibatch of another size.

    Raises
    ------
    ShapeError
        Naming both sizes.
    """
    if batch != state_batch:
        raise ShapeError(
            f"{who}: x must have as many examples as the state that is carried over, "
            f"{state_batch}, got {batch}. Call rnn_clear_previous_state() before other "
            "series."
        )


def _of_each_gate(function: ActivationFunction, n_out: int) -> ActivationPair:
    """Return a function that sees one gate at a time, if it is one of whole rows."""
    return EachGate(function, n_out) if function.name == "softmax" else function


class EachGate:
    """A function of rows, applied to each of the gates that lie side by side.

    Parameters
    ----------
    function : ActivationFunction
        Of rows.
    n_out : int
        Width of a gate.
    """

    def __init__(self, function: ActivationFunction, n_out: int) -> None:
        self._function = function
        self._n_out = n_out

    @property
    def name(self) -> str:
        """Name of the function."""
        return self._function.name

    def forward(
        self, preout: FloatArray, *, out: FloatArray | None = None
    ) -> FloatArray:
        """Compute the function of each gate of `preout`, of shape (batch, k n)."""
        out = array_namespace(preout).empty_like(preout) if out is None else out
        self._function.forward(self._gates(preout), out=self._gates(out))
        return out

    def backward(
        self,
        grad_output: FloatArray,
        preout: FloatArray,
        output: FloatArray,
        *,
        out: FloatArray | None = None,
    ) -> FloatArray:
        """Compute the gradient in `preout`, of shape (batch, k n) like all arrays."""
        out = array_namespace(preout).empty_like(preout) if out is None else out
        self._function.backward(
            *map(self._gates, (grad_output, preout, output)), out=self._gates(out)
        )
        return out

    def _gates(self, array: FloatArray) -> FloatArray:
        rows, columns = array.shape
        return array.reshape(rows, columns // self._n_out, self._n_out)
