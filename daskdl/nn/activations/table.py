"""The activation function that a configuration means."""

from functools import cache
from typing import get_args

from daskdl.nn.activations.exponentials import SELU, elu
from daskdl.nn.activations.function import ActivationFunction
from daskdl.nn.activations.gates import GELU, MISH, PRECISE_GELU, SOFTPLUS, SWISH
from daskdl.nn.activations.identity import CUBE, IDENTITY
from daskdl.nn.activations.rectifiers import (
    RELU,
    RELU6,
    leaky_relu,
    randomized_relu,
    relu,
    thresholded_relu,
)
from daskdl.nn.activations.sigmoids import HARD_SIGMOID, SIGMOID
from daskdl.nn.activations.softmax import SOFTMAX
from daskdl.nn.activations.tanhs import (
    HARD_TANH,
    RATIONAL_TANH,
    RECTIFIED_TANH,
    SOFTSIGN,
    TANH,
)
from daskdl.nn.conf.activations import (
    ActivationOptions,
    Elu,
    Gelu,
    LeakyRelu,
    Relu,
    RRelu,
    ThresholdedRelu,
    find_activation,
)
from daskdl.nn.conf.named import found

_WITHOUT_OPTIONS = {
    function.name: function
    for function in (
        CUBE,
        HARD_SIGMOID,
        HARD_TANH,
        IDENTITY,
        MISH,
        RATIONAL_TANH,
        RECTIFIED_TANH,
        RELU6,
        SELU,
        SIGMOID,
        SOFTMAX,
        SOFTPLUS,
        SOFTSIGN,
        SWISH,
        TANH,
    )
}
_MODELS = {
    get_args(model.model_fields["type"].annotation)[0]: model
    for model in get_args(ActivationOptions)
}


def activation_function(activation: str | ActivationOptions) -> ActivationFunction:
    """Return the activation function of a configuration.

    Parameters
    ----------
    activation : str or model of daskdl.nn.conf.activations
        A name stands for the defaults of its options.

    Raises
    ------
    OptionError
        If there is none of that name.
    """
    return _made(found("activation_function", find_activation, activation))


@cache
def _made(activation: str | ActivationOptions) -> ActivationFunction:
    if not isinstance(activation, str):
        return _with_options(activation)
    if activation in _WITHOUT_OPTIONS:
        return _WITHOUT_OPTIONS[activation]
    return _with_options(_MODELS[activation]())


def _with_options(conf: ActivationOptions) -> ActivationFunction:
    if isinstance(conf, Elu):
        return elu(conf.alpha)
    if isinstance(conf, Gelu):
        return PRECISE_GELU if conf.precise else GELU
    if isinstance(conf, LeakyRelu):
        return leaky_relu(conf.alpha)
    if isinstance(conf, RRelu):
        return randomized_relu(conf.l, conf.u)
    if isinstance(conf, ThresholdedRelu):
        return thresholded_relu(conf.theta)
    return (
        RELU if conf == Relu() else relu(conf.max, conf.negative_slope, conf.threshold)
    )
