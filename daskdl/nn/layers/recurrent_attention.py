"""The recurrent layer that looks back at its whole input with every step."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from daskdl.arrays.namespace import FloatArray
from daskdl.kernels.attention.recurrence import (
    recurrent_attention_backward,
    recurrent_attention_forward,
)
from daskdl.kernels.attention.trace import (
    RecurrentAttentionTrace,
    RecurrentAttentionWeights,
    take_trace,
)
from daskdl.nn.activations.table import activation_function
from daskdl.nn.conf.activations import AnyActivation
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.input_type import InputType, Recurrent
from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.conf.options import TrainingOptions, WeightOptions
from daskdl.nn.conf.parameters import Parameter
from daskdl.nn.layers.attention import AttentionConf
from daskdl.nn.layers.kept_steps import KeptSteps
from daskdl.nn.layers.same_diff import sd_activation, sd_defaults, sd_parameter
from daskdl.nn.masks import check_step_mask
from daskdl.nn.run import Backward, Run


class RecurrentAttention(AttentionConf, WeightOptions, TrainingOptions, LayerConf):
    """Let the last output ask all steps of the input, and use the answer.

    ``y[t] = activation(x[t] W + attention(y[t-1], x, x) RW + b)``; the first step has
    nothing to ask with. Steps that the mask drops are no answer. They come out as 0,
    and the step behind them asks with the last output that was kept.

    Parameters
    ----------
    activation : activation, default "tanh"
        Not taken from the network.
    has_bias : bool
        Whether b is added.
    bias_init : float, optional
        Initial bias.

    References
    ----------
    DL4J, ``RecurrentAttentionLayer``.
    """

    unused_options: ClassVar[tuple[str, ...]] = ()
    counts_gradient_twice: ClassVar[bool] = True
    can_be_cut: ClassVar[bool] = True

    type: Literal["recurrent_attention"] = "recurrent_attention"
    project_input: bool = True
    activation: AnyActivation = "tanh"
    has_bias: bool = True

    def filled(
        self, defaults: Mapping[str, Any], input_type: InputType, name: str
    ) -> LayerConf:
        """Return a copy with nothing left open; refuse a bias that is always 0."""
        filled = super().filled(sd_defaults(self, defaults), input_type, name)
        if "biases_begin_at_zero" in self.quirks and self.bias_init not in (None, 0):
            raise PathError(
                "must be left out: biases of RecurrentAttention begin at 0 in the "
                f"network's dialect, got {self.bias_init!r}.",
                "bias_init",
            )
        return filled

    def output_type(self, input_type: InputType) -> Recurrent:
        """Return time series of `n_out`, as long as the input."""
        return self.series(input_type).replaced(size=self.n_out)

    def parameters(self, input_type: InputType) -> tuple[Parameter, ...]:
        """Return W (n_in, n_out), RW (n_out, n_out), perhaps Wq, Wk, Wv, Wo, and b."""
        n_in, n_out = self.inferred_n_in(input_type), self.n_out
        bias = sd_parameter("b", (n_out,), "bias")
        return (
            sd_parameter("W", (n_in, n_out)),
            sd_parameter("RW", (n_out, n_out)),
            *self.projections(n_out, n_in, n_in),
            *((bias,) if self.has_bias else ()),
        )

    def forward(self, run: Run, x: FloatArray) -> tuple[FloatArray, Backward]:
        """Run over `x`, of shape (batch, time, n_in)."""
        check_step_mask(run.mask, x, run.who)
        answers_all = "attention_answers_masked_queries" in self.quirks
        kept = KeptSteps(None if answers_all else run.mask, run.name, run.workspace)
        series = kept.gathered("x", x)
        weights = _weights(run.params)
        activation = activation_function(
            sd_activation(self.activation, self.quirks), self.quirks
        )
        trace = self._take_trace(run, "trace", series)

        def backward(grad_out: FloatArray) -> FloatArray | None:
            grad_x = run.like("grad_x", series) if run.needs_grad_x else None
            gathered = recurrent_attention_backward(
                kept.gathered("grad_out", grad_out),
                series,
                weights,
                activation,
                trace,
                run.workspace,
                grads=self._take_trace(run, "grads", series),
                gradients=_weights(run.gradients),
                grad_x=kept.room("grad_x", grad_x),
            )
            return kept.scatter(gathered, grad_x)

        out = run.buffer("output", (*x.shape[:2], self.n_out), x.dtype)
        gathered = recurrent_attention_forward(
            series,
            weights,
            activation,
            trace,
            run.workspace,
            mask=run.mask if answers_all else kept.gathered_mask(),
            out=kept.room("output", out),
            shifts_masked="attention_shifts_masked_keys" in self.quirks,
        )
        return kept.scatter(gathered, out), backward

    def _take_trace(
        self, run: Run, what: str, series: FloatArray
    ) -> RecurrentAttentionTrace:
        return take_trace(
            run.workspace,
            (run.name, what),
            series,
            n_out=self.n_out,
            heads=self.n_heads,
            size=self.size_of_heads if self.project_input else self.n_out,
        )


def _weights(arrays: dict[str, FloatArray]) -> RecurrentAttentionWeights:
    """Return parameters or gradients as the kernels take them: views."""
    optional = (arrays.get(name) for name in ("b", "Wq", "Wk", "Wv", "Wo"))
    return RecurrentAttentionWeights(arrays["W"], arrays["RW"], *optional)
