"""What the recurrent layers share: their options, and one LSTM over series."""

from collections.abc import Callable

import numpy as np

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.errors import ShapeError
from daskdl.kernels.recurrent import lstm_backward, lstm_forward
from daskdl.kernels.recurrent.trace import ActivationPair, take_trace
from daskdl.kernels.recurrent.weights import LstmState, LstmWeights
from daskdl.nn.activations.function import ActivationFunction
from daskdl.nn.activations.table import activation_function
from daskdl.nn.conf.activations import AnyActivation
from daskdl.nn.conf.input_type import InputType, Recurrent
from daskdl.nn.conf.layer import WeightGroup
from daskdl.nn.conf.parameters import Parameter
from daskdl.nn.conf.values import Real
from daskdl.nn.conf.weight_inits import AnyWeightInit
from daskdl.nn.layers.input_kinds import series_in
from daskdl.nn.layers.kept_steps import KeptSteps
from daskdl.nn.masks import check_step_mask
from daskdl.nn.run import LayerPass, Run


class RecurrentConf(WeightGroup):
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

    def weight_init_of(self, parameter: Parameter) -> AnyWeightInit | None:
        """Return how a weight is drawn; those between the steps have a rule."""
        rule = self.weight_init_recurrent
        if parameter.name.startswith("RW") and rule is not None:
            return rule
        return super().weight_init_of(parameter)

    def output_type(self, input_type: InputType) -> Recurrent:
        """Return time series of `n_out`."""
        series = series_in(self, input_type)
        self.inferred_n_in(series)
        return series.replaced(size=self.n_out)


class GatedConf(WeightGroup):
    """A long short-term memory of any kind.

    Parameters
    ----------
    gate_activation : activation, default "sigmoid"
        Of the three gates.
    forget_gate_bias_init : float, default 1.0
        Initial bias of the forget gate; the other biases begin at 0.
    """

    gate_activation: AnyActivation = "sigmoid"
    forget_gate_bias_init: Real = 1.0

    def fans(self, parameter: Parameter) -> tuple[float, float]:
        """Return n_out and n_in + n_out, for W and RW alike."""
        n_in = self.n_in or 0
        return self.n_out, n_in + self.n_out

    def initialize(self, run: Run, rng: np.random.Generator) -> None:
        """Set the bias of forget gates to `forget_gate_bias_init`, the others to 0."""
        for name, values in run.params.items():
            if name.startswith("b"):
                values.fill(0)
                values[self.n_out : 2 * self.n_out] = self.forget_gate_bias_init

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


def in_stretches(run: Run, backward: Callable[[slice], object], n_steps: int) -> None:
    """Sum the gradients of stretches of time steps between which none flows.

    Parameters
    ----------
    run : Run
        Says how long they are.
    backward : function of a slice of time steps
        Overwrites the run's gradients with those of a stretch, which takes the state in
        front of it for a constant.
    n_steps : int
        All of them.
    """
    first, *others = stretches_of(n_steps, run.back_length)
    backward(first)
    for steps in others:
        so_far = {}
        for name, array in run.gradients.items():
            so_far[name] = run.like(f"summed {name}", array)
            so_far[name][...] = array
        backward(steps)
        for name, array in run.gradients.items():
            array += so_far[name]


def stretches_of(n_steps: int, length: int | None) -> list[slice]:
    """Return stretches of `length` time steps, the last may be shorter; None is all.

    From the first step on: padding behind a series changes none of the others.
    """
    length = length or n_steps
    return [slice(at, min(at + length, n_steps)) for at in range(0, n_steps, length)]


class Lstm:
    """One LSTM over whole series in one pass: forward, then backward.

    Parameters
    ----------
    conf : GatedConf
        Activations and width.
    run : Run
        Parameters, gradients, buffers.
    suffix : str
        Ends the names of its parameters.
    masks_gradient : bool
        Whether steps that reset the state send no gradient back.
    """

    def __init__(
        self, conf: GatedConf, run: Run, suffix: str = "", *, masks_gradient: bool
    ) -> None:
        self._activation = activation_function(conf.activation, conf.quirks)
        self._gate_activation = activation_function(conf.gate_activation, conf.quirks)
        self._gate_pair = _of_each_gate(self._gate_activation, conf.n_out)
        self._n_out = conf.n_out
        self._run = run
        self._suffix = suffix
        self._name = f"{run.name}.{suffix}" if suffix else run.name
        self._masks_gradient = masks_gradient
        self._resets = "dropped_steps_reset_state" in conf.quirks
        self._weights = self._of(run.params)

    def forward(
        self,
        x: FloatArray,
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
            None if self._resets else mask, self._name, self._run.workspace
        )
        gathered = self._kept.room("output", out)
        self._trace = take_trace(
            self._run.workspace,
            self._name,
            x.shape,
            self._n_out,
            x.dtype,
            keeps_preout=self._activation.reads_preout
            or self._gate_activation.reads_preout,
        )
        lstm_forward(
            self._kept.gathered("x", x),
            self._weights,
            self._activation,
            self._gate_pair,
            self._trace,
            self._run.workspace,
            out=gathered,
            mask=mask if self._resets else None,
            state=state,
        )
        self._kept.scatter(gathered, out)

    def backward(
        self,
        grad_out: FloatArray,
        *,
        grad_x: FloatArray | None,
        mask: FloatArray | None = None,
    ) -> FloatArray | None:
        """Write the gradients; see :func:`daskdl.kernels.recurrent.lstm_backward`.

        Parameters
        ----------
        grad_out, grad_x, mask
            Of all time steps.
        """
        gathered = self._kept.room("grad_x", grad_x)
        grads = self._kept.gathered("grad_out", grad_out)
        mask = mask if self._resets else None
        gradients = self._of(self._run.gradients)

        def backward(steps: slice) -> None:
            lstm_backward(
                grads[:, steps],
                self._weights,
                self._activation,
                self._gate_pair,
                self._trace.part(steps),
                self._run.workspace,
                gradients=gradients,
                grad_x=None if gathered is None else gathered[:, steps],
                mask=None if mask is None else mask[:, steps],
                masks_gradient=self._masks_gradient,
                state=self._state_before(steps.start),
            )

        in_stretches(self._run, backward, grad_out.shape[1])
        return self._kept.scatter(gathered, grad_x)

    def _of(self, arrays: dict[str, FloatArray]) -> LstmWeights:
        """Return parameters or gradients as the kernels take them: views."""
        recurrent = arrays[f"RW{self._suffix}"]
        gates = 4 * self._n_out
        return LstmWeights(
            arrays[f"W{self._suffix}"],
            recurrent[:, :gates],
            arrays[f"b{self._suffix}"],
            recurrent[:, gates:] if recurrent.shape[1] > gates else None,
        )

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


def lstm_pass(
    conf: GatedConf, run: Run, x: FloatArray, *, masks_gradient: bool = False
) -> LayerPass:
    """Return what an LSTM from the first step to the last computes, and its way back.

    Steps that a mask drops come out as 0, and leave output and cell as they are for
    the step behind them.

    Parameters
    ----------
    conf : GatedConf
    run : Run
    x : ndarray of shape (batch, time, n_in)
    masks_gradient : bool
        See :class:`Lstm`.

    Returns
    -------
    output : ndarray of shape (batch, time, n_out)
    backward : function of a gradient like output
    """
    uses_mask = run.uses_mask or "lstm_ignores_masks" not in conf.quirks
    mask = run.mask if uses_mask else None
    check_step_mask(mask, x, run.who)
    before: LstmState | None = run.state if run.carries_state else None
    if before is not None:
        check_state(run.who, len(x), len(before.hidden))
    output = run.lent("output", (*x.shape[:2], conf.n_out), x.dtype)
    lstm = Lstm(conf, run, masks_gradient=masks_gradient)
    lstm.forward(x, out=output, mask=mask, state=before)
    if run.carries_state:
        run.state = lstm.last_state

    def backward(grad_out: FloatArray) -> FloatArray | None:
        if before is not None and "gradients_begin_with_zeros" in conf.quirks:
            # Though the layers above saw what began with the state.
            lstm.forward(x, out=None, mask=mask)
        grad_x = None
        if run.needs_grad_x:
            grad_x = run.lent("grad_x", x.shape, grad_out.dtype)
        return lstm.backward(grad_out, grad_x=grad_x, mask=mask)

    return output, backward


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
