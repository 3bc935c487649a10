"""The vertex that answers queries by keys and values of other series."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import model_validator

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.nn.conf.axes import known
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.input_type import InputType, Recurrent
from daskdl.nn.conf.names import GradientNormalizationName
from daskdl.nn.conf.options import TrainingOptions
from daskdl.nn.conf.parameters import Parameter
from daskdl.nn.conf.regularization import AnyCoefficient, AnyWeightDecay
from daskdl.nn.conf.updaters import AnyUpdater
from daskdl.nn.conf.values import Count, Positive, with_quirks
from daskdl.nn.conf.vertex import VertexConf
from daskdl.nn.conf.weight_inits import AnyWeightInit
from daskdl.nn.initializers import draw_weights
from daskdl.nn.layers.attention import check_heads, projection_fans, projections
from daskdl.nn.layers.heads import Heads
from daskdl.nn.masks import check_step_mask
from daskdl.nn.run import Arrays, Masks, VertexPass, VertexRun

_SIZES = ("n_in_queries", "n_in_keys", "n_in_values")


class AttentionVertex(VertexConf):
    """Answer the steps of a series of queries by the steps of other series.

    Its three inputs are queries, keys and values; keys and values have one number of
    steps. Those of them that one of their masks drops are no answer to any query; where
    the mask of the queries drops one, 0 comes out. What is None is taken from the
    network.

    Parameters
    ----------
    n_out : int
        Number of outputs of a step.
    n_in_queries, n_in_keys, n_in_values : int, optional
        Sizes of the inputs; inferred, and refused if they contradict the inputs.
    n_heads : int, default 1
        How many times the steps are weighed, each time by other projections.
    head_size : int, optional
        Size of the projections; ``n_out / n_heads`` if left out.
    project_input : bool
        Whether queries, keys and values are projected. Without, there is one head, and
        all sizes are one.
    weight_init : str or weight init, optional
        How the initial weights are drawn.
    updater, l1, l2, weight_decay : optional
        As a layer with weights has them.
    gradient_normalization, gradient_normalization_threshold : optional
        Likewise.
    bias_updater, l1_bias, l2_bias, weight_decay_bias : optional
        For files: there are no biases.

    References
    ----------
    Vaswani et al. 2017, "Attention Is All You Need", arXiv:1706.03762. DL4J,
    ``AttentionVertex``.
    """

    counts_gradient_twice: ClassVar[bool] = True
    can_be_cut: ClassVar[bool] = True

    type: Literal["attention"] = "attention"
    updater: AnyUpdater | None = None
    bias_updater: AnyUpdater | None = None
    l1: AnyCoefficient | None = None
    l2: AnyCoefficient | None = None
    l1_bias: AnyCoefficient | None = None
    l2_bias: AnyCoefficient | None = None
    weight_decay: AnyWeightDecay | None = None
    weight_decay_bias: AnyWeightDecay | None = None
    gradient_normalization: GradientNormalizationName | None = None
    gradient_normalization_threshold: Positive | None = None
    n_out: Count
    n_in_queries: Count | None = None
    n_in_keys: Count | None = None
    n_in_values: Count | None = None
    n_heads: Count = 1
    head_size: Count | None = None
    project_input: bool = False
    weight_init: AnyWeightInit | None = None

    @model_validator(mode="after")
    def _check_heads(self) -> "AttentionVertex":
        check_heads(self.n_heads, self.head_size, self.n_out, self.project_input)
        return self

    def output_type(self, input_types: Sequence[InputType]) -> Recurrent:
        """Return time series of `n_out`, as long as the queries."""
        queries, keys, values = self._series(input_types)
        self._sizes(input_types)
        if len(set(known([keys.time_steps, values.time_steps]))) > 1:
            raise PathError(
                "must be keys and values of one number of steps, got "
                f"{keys.time_steps} and {values.time_steps}.",
                "inputs",
            )
        return queries.replaced(size=self.n_out)

    def parameters(self, input_types: Sequence[InputType]) -> tuple[Parameter, ...]:
        """Return Wq, Wk, Wv (n_heads, head_size, n_in) and Wo, or nothing."""
        if not self.project_input:
            return ()
        sizes = self._sizes(input_types)
        return projections(self.n_heads, self.size_of_heads, sizes, self.n_out)

    def filled(
        self, defaults: Mapping[str, Any], input_types: Sequence[InputType], name: str
    ) -> VertexConf:
        """Return a copy with nothing left open, sizes of the inputs included."""
        sizes = self._sizes(input_types)
        changes: dict[str, Any] = dict(zip(_SIZES, sizes, strict=True))
        return self.model_copy(update={**self.left_open(defaults), **changes})

    @property
    def trained(self) -> TrainingOptions:
        """The options of training, as a layer has them."""
        options: dict[str, Any] = {
            option: getattr(self, option, None)
            for option in TrainingOptions.model_fields
        }
        return with_quirks(TrainingOptions(**options), self.quirks)

    @property
    def size_of_heads(self) -> int:
        """Size of one head's queries, keys and values."""
        return self.head_size or self.n_out // self.n_heads

    def initialize(self, run: VertexRun, rng: np.random.Generator) -> None:
        """Draw the projections with their own fans."""
        scheme, quirks = self.weight_init or "xavier", self.quirks
        for name, weights in run.params.items():
            fans = projection_fans(name, weights.shape)
            draw_weights(scheme, *fans, rng, out=weights, quirks=quirks)

    def forward(self, run: VertexRun, inputs: Arrays) -> VertexPass:
        """Answer the queries, (batch, n_queries, n_in_queries)."""
        for x, mask in zip(inputs, run.masks, strict=True):
            check_step_mask(mask, x, run.who)
        queries, keys, values = inputs
        asked, *answers = run.masks
        heads = Heads(run.lent, run.params, run.gradients, self.quirks)
        output = heads.forward(queries, keys, values, _both(answers), asked=asked)
        return output, heads.backward

    def _series(self, input_types: Sequence[InputType]) -> list[Recurrent]:
        """Return the types of queries, keys and values, or refuse the inputs."""
        series = [t for t in input_types if isinstance(t, Recurrent)]
        if len(series) != 3 or len(input_types) != 3:
            came = ", ".join(str(other) for other in input_types)
            raise PathError(
                "must be three time series: queries, keys and values, "
                f"got {came or 'none'}.",
                "inputs",
            )
        return series

    def _sizes(self, input_types: Sequence[InputType]) -> tuple[int, int, int]:
        """Return the sizes of queries, keys and values, or refuse inputs of others."""
        series = self._series(input_types)
        queries, keys, values = map(self._size, _SIZES, series)
        return queries, keys, values

    def _size(self, option: str, series: Recurrent) -> int:
        given: int | None = getattr(self, option)
        if series.size is None and given is not None:
            return given
        came = series.n_features
        if given not in (None, came):
            raise PathError(f"must be {came}, what comes in, got {given}.", option)
        if not self.project_input and self.n_out != came:
            raise PathError(
                f"must be {came}, what comes in, got {self.n_out}.", "n_out"
            )
        return came


def _both(masks: Masks) -> FloatArray | None:
    """Return the mask of the steps that all masks keep."""
    present = [mask for mask in masks if mask is not None]
    if len(present) < 2:
        return present[0] if present else None
    first, second = present
    both: FloatArray = array_namespace(first).minimum(first, second)
    return both
