"""What a network says for all its layers, and how a layer takes it over."""

from typing import Any, Literal

from daskdl.nn.conf.input_type import InputType
from daskdl.nn.conf.layer import LayerConf, WeightLayerConf
from daskdl.nn.conf.names import (
    ActivationName,
    GradientNormalizationName,
    WeightInitName,
)
from daskdl.nn.conf.updaters import AnyUpdater, Sgd
from daskdl.nn.conf.values import (
    Conf,
    Index,
    NonNegative,
    Positive,
    Probability,
    Real,
)

# What DL4J's output layer takes if it is given neither activation nor loss is softmax
# and mcxent; the others are the activations whose gradients these losses are made for.
_ACTIVATION_OF_LOSS = {
    "mcxent": "softmax",
    "negativeloglikelihood": "softmax",
    "xent": "sigmoid",
}


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
    activation: ActivationName = "sigmoid"
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

    def resolved(self, layer: LayerConf, input_type: InputType, name: str) -> LayerConf:
        """Return `layer` with nothing left open.

        Parameters
        ----------
        layer : LayerConf
            As the user wrote it.
        input_type : InputType
            What it gets; gives `n_in`.
        name : str
            What it is called.

        Returns
        -------
        LayerConf
            A copy in which only `bias_updater` may still be None: the biases change
            as the weights do.
        """
        values: dict[str, Any] = {"name": name}
        for option in type(layer).model_fields:
            if getattr(layer, option) is None and option in NetworkConf.model_fields:
                values[option] = getattr(self, option)
        if isinstance(layer, WeightLayerConf):
            values["n_in"] = layer.inferred_n_in(input_type)
        if layer.is_output and getattr(layer, "activation", None) is None:
            loss = getattr(layer, "loss", "")
            values["activation"] = _ACTIVATION_OF_LOSS.get(loss, "identity")
        return layer.model_copy(update=values)
