"""The recurrent layer that looks back at its whole input with every step."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np

from daskdl.arrays.namespace import FloatArray
from daskdl.arrays.workspace import Workspace
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
from daskdl.nn.conf.parameters import Parameter
from daskdl.nn.conf.weight_inits import AnyWeightInit
from daskdl.nn.layers.attention import AttentionConf, draw, self_attention_fans
from daskdl.nn.layers.kept_steps import KeptSteps
from daskdl.nn.layers.layer import Layer, works_for
from daskdl.nn.layers.same_diff import sd_activation, sd_defaults, sd_parameter
from daskdl.nn.masks import check_step_mask


class RecurrentAttention(AttentionConf):
    """Let the last output ask all steps of the input, and use the answer.

    ``y[t] = activation(x[t] W + attention(y[t-1], x, x) RW + b)``; the first step has
    nothing to ask with.

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


@works_for(RecurrentAttention)
class RecurrentAttentionLayer(Layer[RecurrentAttention]):
    """A recurrent layer whose state asks, and whose input answers.

    Steps that the mask drops are no answer. They come out as 0, and the step behind
    them asks with the last output that was kept.
    """

    def __init__(
        self,
        conf: RecurrentAttention,
        input_type: InputType,
        name: str,
        workspace: Workspace,
    ) -> None:
        super().__init__(conf, input_type, name, workspace)
        self._activation = activation_function(
            sd_activation(conf.activation, conf.quirks), conf.quirks
        )

    def initialize(self, rng: np.random.Generator) -> None:
        """Draw weights with the fans of what they map; every bias is `bias_init`."""
        n_in, n_out = self.params["W"].shape
        fans = {"W": (n_in, n_out), "RW": (n_out, n_out)}
        fans.update(self_attention_fans(self.conf, self.params, n_in))
        scheme: AnyWeightInit = self._given("weight_init", self.conf.weight_init)
        draw(self.params, fans, scheme, rng, self.conf.quirks)
        if "b" in self.params:
            self.params["b"].fill(self._given("bias_init", self.conf.bias_init))

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
        quirks = self.conf.quirks
        answers_all = "attention_answers_masked_queries" in quirks
        self._kept = KeptSteps(
            None if answers_all else mask, self.name, self._workspace
        )
        self._x = self._kept.gathered("x", x)
        self._trace = self._take_trace("trace")
        out: FloatArray = self._buffer(
            "output", (*x.shape[:2], self.conf.n_out), x.dtype
        )
        gathered = recurrent_attention_forward(
            self._x,
            _weights(self.params),
            self._activation,
            self._trace,
            self._workspace,
            mask=mask if answers_all else self._kept.gathered_mask(),
            out=self._kept.room("output", out),
            shifts_masked="attention_shifts_masked_keys" in quirks,
        )
        return self._kept.scatter(gathered, out)

    def backward(self, grad_out: FloatArray) -> FloatArray | None:
        """Compute the gradients through all time steps; see :meth:`Layer.backward`."""
        grad_x = self._like("grad_x", self._x) if self.needs_grad_x else None
        gathered = recurrent_attention_backward(
            self._kept.gathered("grad_out", grad_out),
            self._x,
            _weights(self.params),
            self._activation,
            self._trace,
            self._workspace,
            grads=self._take_trace("grads"),
            gradients=_weights(self.gradients),
            grad_x=self._kept.room("grad_x", grad_x),
        )
        return self._kept.scatter(gathered, grad_x)

    def _take_trace(self, what: str) -> RecurrentAttentionTrace:
        conf = self.conf
        return take_trace(
            self._workspace,
            (self.name, what),
            self._x,
            n_out=conf.n_out,
            heads=conf.n_heads,
            size=conf.size_of_heads if conf.project_input else conf.n_out,
        )


def _weights(arrays: dict[str, FloatArray]) -> RecurrentAttentionWeights:
    """Return parameters or gradients as the kernels take them: views."""
    optional = (arrays.get(name) for name in ("b", "Wq", "Wk", "Wv", "Wo"))
    return RecurrentAttentionWeights(arrays["W"], arrays["RW"], *optional)
