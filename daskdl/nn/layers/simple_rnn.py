"""The simplest recurrent layer: its output is part of the next step's input."""

from typing import ClassVar, Literal

import numpy as np

from daskdl.arrays.namespace import FloatArray
from daskdl.kernels.simple_rnn import simple_rnn_backward, simple_rnn_forward
from daskdl.kernels.simple_rnn.weights import SimpleRnnWeights, take_trace
from daskdl.nn.activations.table import activation_function
from daskdl.nn.conf.input_type import InputType
from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.conf.options import TrainingOptions, WeightOptions
from daskdl.nn.conf.parameters import Parameter, gain
from daskdl.nn.conf.values import Real
from daskdl.nn.layers.kept_steps import KeptSteps
from daskdl.nn.layers.recurrent import RecurrentConf, check_state, in_stretches
from daskdl.nn.masks import check_step_mask
from daskdl.nn.run import LayerPass, Run


class SimpleRnn(RecurrentConf, WeightOptions, TrainingOptions, LayerConf):
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

    can_be_cut: ClassVar[bool] = True

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

    def initialize(self, run: Run, rng: np.random.Generator) -> None:
        """Set the gains."""
        if self.gain_init is not None and self.has_layer_norm:
            run.params["g"].fill(self.gain_init)

    def forward(self, run: Run, x: FloatArray) -> LayerPass:
        """Compute the output, (batch, time, n_out), `x` (batch, time, n_in).

        Steps that the mask drops come out as 0, and leave the output as it is for the
        step behind them.
        """
        check_step_mask(run.mask, x, run.who)
        resets = "dropped_steps_reset_state" in self.quirks
        mask = run.mask if resets else None
        kept = KeptSteps(None if resets else run.mask, run.name, run.workspace)
        function = activation_function(self.activation, self.quirks)
        trace = take_trace(
            run.workspace,
            run.name,
            x.shape,
            self.n_out,
            x.dtype,
            is_normalized=self.has_layer_norm,
        )
        weights = _weights(run.params)

        def write(out: FloatArray | None, state: FloatArray | None) -> None:
            gathered = kept.room("output", out)
            simple_rnn_forward(
                kept.gathered("x", x),
                weights,
                function,
                trace,
                run.workspace,
                out=gathered,
                mask=mask,
                state=state,
            )
            kept.scatter(gathered, out)

        before: FloatArray | None = run.state if run.carries_state else None
        if before is not None:
            check_state(run.who, len(x), len(before))
        output = run.lent("output", (*x.shape[:2], self.n_out), x.dtype)
        write(output, before)
        if run.carries_state:
            run.state = kept.last(trace.hidden, before)

        def backward(grad_out: FloatArray) -> FloatArray | None:
            state = before
            if before is not None and "gradients_begin_with_zeros" in self.quirks:
                # Though the layers above saw what began with the state.
                state = None
                write(None, state)
            grad_x = None
            if run.needs_grad_x:
                grad_x = run.lent("grad_x", x.shape, grad_out.dtype)
            gathered = kept.room("grad_x", grad_x)
            grads = kept.gathered("grad_out", grad_out)

            def backward_part(steps: slice) -> None:
                simple_rnn_backward(
                    grads[:, steps],
                    weights,
                    function,
                    trace.part(steps),
                    run.workspace,
                    gradients=_weights(run.gradients),
                    grad_x=None if gathered is None else gathered[:, steps],
                    mask=None if mask is None else mask[:, steps],
                    state=trace.hidden[steps.start - 1] if steps.start else state,
                )

            in_stretches(run, backward_part, grad_out.shape[1])
            return kept.scatter(gathered, grad_x)

        return output, backward


def _weights(arrays: dict[str, FloatArray]) -> SimpleRnnWeights:
    """Return parameters or gradients as the kernels take them: views."""
    gains = arrays.get("g")
    return SimpleRnnWeights(
        arrays["W"],
        arrays["RW"],
        arrays["b"],
        None if gains is None else gains.reshape(2, -1),
    )
