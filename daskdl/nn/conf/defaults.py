"""What a network says for all its layers, and how a layer takes it over."""

from typing import Any, Literal

from daskdl.nn.conf.activations import AnyActivation
from daskdl.nn.conf.names import (
    BackpropTypeName,
    GradientNormalizationName,
    WeightInitName,
)
from daskdl.nn.conf.updaters import AnyUpdater, Sgd
from daskdl.nn.conf.values import (
    Count,
    Conf,
    Index,
    NonNegative,
    Positive,
    Probability,
    Real,
)


class NetworkConf(Conf):
    """Options of a whole network; those that layers share are their defaults.

    Parameters
    ----------
    seed : int
        Of initial weights and dropout.
    dtype : {"float32", "float64"}
        Of parameters and activations.
    mini_batch : bool
        Whether the gradient is divided by the number of examples.
    backprop_type : {"standard", "truncated_bptt"}
        Whether time series are trained whole, or cut into segments, with an update
        after each.
    tbptt_fwd_length, tbptt_back_length : int
        Time steps of a segment. The second one is kept for DL4J's files and changes
        nothing, as in DL4J.
    activation, weight_init, bias_init, updater, bias_updater, l1, l2, l1_bias, \
l2_bias, weight_decay, keep_probability, gradient_normalization, \
gradient_normalization_threshold
        For every layer that does not say otherwise, as in
        :class:`~daskdl.nn.conf.layer.WeightLayerConf`. The defaults are DL4J's.
        `activation` does not reach LSTM and output layers, which have their own.
    """

    seed: Index = 12345
    dtype: Literal["float32", "float64"] = "float32"
    mini_batch: bool = True
    backprop_type: BackpropTypeName = "standard"
    tbptt_fwd_length: Count = 20
    tbptt_back_length: Count = 20
    activation: AnyActivation = "sigmoid"
    weight_init: WeightInitName = "xavier"
    bias_init: Real = 0.0
    updater: AnyUpdater = Sgd()
    bias_updater: AnyUpdater | None = None
    l1: NonNegative = 0.0
    l2: NonNegative = 0.0
    l1_bias: NonNegative = 0.0
    l2_bias: NonNegative = 0.0
    weight_decay: NonNegative = 0.0
    keep_probability: Probability = 1.0
    gradient_normalization: GradientNormalizationName = "none"
    gradient_normalization_threshold: Positive = 1.0

    def defaults(self) -> dict[str, Any]:
        """Return what layers take over for the options that they leave open."""
        return {option: getattr(self, option) for option in NetworkConf.model_fields}
