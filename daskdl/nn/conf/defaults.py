"""What a network says for all its layers, and how a layer takes it over."""

from typing import Any, Literal

from pydantic import Field, model_validator

from daskdl.dialects import EXACT, Quirks, quirks_of
from daskdl.nn.conf.activations import AnyActivation
from daskdl.nn.conf.constraints import Constraints
from daskdl.nn.conf.dropouts import AnyDropout, refuse_two_dropouts
from daskdl.nn.conf.names import (
    BackpropTypeName,
    DialectName,
    GradientNormalizationName,
    OptimizationAlgoName,
)
from daskdl.nn.conf.regularization import AnyCoefficient, AnyWeightDecay
from daskdl.nn.conf.updaters import AnyUpdater, Sgd
from daskdl.nn.conf.values import (
    Conf,
    Count,
    Positive,
    Probability,
    Real,
    Whole,
    with_quirks,
)
from daskdl.nn.conf.weight_inits import AnyWeightInit
from daskdl.nn.conf.weight_noise import AnyWeightNoise


class NetworkConf(Conf):
    """Options of a whole network; those that layers share are their defaults.

    Parameters
    ----------
    dialect : str
        ``"exact"`` computes what formulas and documentation say. Networks from DL4J's
        files have ``"dl4j-1.0.0-M2.1"``, which computes what DL4J does; see
        ``docs/dl4j-quirks.md``.
    seed : int
        Of initial weights and dropout.
    dtype : {"float32", "float64"}
        Of parameters and activations.
    mini_batch : bool
        Whether the gradient is divided by the number of examples.
    optimization_algo : str
        Gradient descent, or searches along lines: ``line_gradient_descent``,
        ``conjugate_gradient`` and ``lbfgs``, in one process only. They find the length
        of a step by themselves: updaters take no part, gradients are not normalized.
    max_num_line_search_iterations : int
        Number of steps that such a search tries.
    backprop_type : {"standard", "truncated_bptt"}
        Whether time series are trained whole, or cut into segments, with an update
        after each.
    tbptt_fwd_length : int
        Time steps of a segment.
    tbptt_back_length : int, optional
        How many of them a gradient flows back in recurrent layers at most: longer
        segments are cut again into pieces that long, and there is one update for all of
        them. What is in front of a cut counts, and learns nothing from what is behind
        it. None, and what is longer than a segment: back to its beginning.
    validate_output_layer : bool
        Whether pairs of loss and activation are refused that cannot be trained, like
        ``mcxent`` behind ``identity``. Not in other dialects than ``exact``.
    dl4j : mapping
        Properties in a file that change nothing here, kept for the way back.
    activation, weight_init, bias_init, gain_init, updater, bias_updater, l1, l2, \
l1_bias, l2_bias, weight_decay, weight_decay_bias, constraints, keep_probability, \
dropout, weight_noise, gradient_normalization, gradient_normalization_threshold
        For every layer that does not say otherwise, as in
        :class:`~daskdl.nn.conf.layer.TrainingOptions` and
        :class:`~daskdl.nn.conf.layer.WeightOptions`. `activation` does not reach LSTM
        and output layers, which have their own, and `keep_probability` and `dropout`
        only layers that say ``takes_network_dropout``: a layer's own dropout is another
        thing.
    """

    dialect: DialectName = EXACT
    seed: Whole = 12345
    dtype: Literal["float32", "float64"] = "float32"
    mini_batch: bool = True
    optimization_algo: OptimizationAlgoName = "stochastic_gradient_descent"
    max_num_line_search_iterations: Count = 5
    backprop_type: BackpropTypeName = "standard"
    tbptt_fwd_length: Count = 20
    tbptt_back_length: Count | None = None
    validate_output_layer: bool = True
    activation: AnyActivation = "sigmoid"
    weight_init: AnyWeightInit = "xavier"
    bias_init: Real = 0.0
    gain_init: Real = 1.0
    updater: AnyUpdater = Sgd()
    bias_updater: AnyUpdater | None = None
    l1: AnyCoefficient = 0.0
    l2: AnyCoefficient = 0.0
    l1_bias: AnyCoefficient = 0.0
    l2_bias: AnyCoefficient = 0.0
    weight_decay: AnyWeightDecay = 0.0
    weight_decay_bias: AnyWeightDecay = 0.0
    constraints: Constraints = ()
    keep_probability: Probability = 1.0
    dropout: AnyDropout | None = None
    weight_noise: AnyWeightNoise | None = None
    gradient_normalization: GradientNormalizationName = "none"
    gradient_normalization_threshold: Positive = 1.0
    dl4j: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _check_dropout(self) -> "NetworkConf":
        refuse_two_dropouts(self)
        return self

    def defaults(self) -> dict[str, Any]:
        """Return what layers take over for the options that they leave open."""
        quirks = self.quirks_of_dialect
        return {
            option: with_quirks(getattr(self, option), quirks)
            for option in NetworkConf.model_fields
        }

    @property
    def back_length(self) -> int | None:
        """How many time steps gradients flow back at most; None is all."""
        ignored = "back_length_changes_nothing" in self.quirks_of_dialect
        return None if ignored else self.tbptt_back_length

    @property
    def quirks_of_dialect(self) -> Quirks:
        """What is computed otherwise than formulas say; nothing in ``exact``."""
        return quirks_of(self.dialect)
