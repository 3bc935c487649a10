"""The activation function that a configuration means."""

from functools import cache
from typing import Any

from daskdl.dialects import Quirks
from daskdl.nn.activations.defined import defined
from daskdl.nn.activations.exponentials import SELU, elu
from daskdl.nn.activations.function import ActivationFunction
from daskdl.nn.activations.gates import MISH, SOFTPLUS, SWISH, gelu, precise_gelu
from daskdl.nn.activations.identity import CUBE, IDENTITY
from daskdl.nn.activations.rectifiers import (
    RELU,
    RELU6,
    leaky_relu,
    randomized_relu,
    relu,
    thresholded_relu,
)
from daskdl.nn.activations.sigmoids import SIGMOID, hard_sigmoid
from daskdl.nn.activations.softmax import SOFTMAX
from daskdl.nn.activations.tanhs import (
    HARD_TANH,
    RECTIFIED_TANH,
    SOFTSIGN,
    TANH,
    rational_tanh,
)
from daskdl.nn.conf.activations import (
    WITH_OPTIONS,
    ActivationDefinition,
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
from daskdl.nn.conf.values import tag_of

_WITHOUT_OPTIONS = {
    function.name: function
    for function in (
        CUBE,
        HARD_TANH,
        IDENTITY,
        MISH,
        RECTIFIED_TANH,
        RELU,
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
_WITH_CONSTANTS = {"hardsigmoid": hard_sigmoid, "rationaltanh": rational_tanh}
_MODELS = {tag_of(model): model for model in WITH_OPTIONS}


def activation_function(
    activation: str | ActivationOptions | None, quirks: Quirks = frozenset()
) -> ActivationFunction:
    """Return the activation function of a configuration.

    Parameters
    ----------
    activation : str or model of daskdl.nn.conf.activations
        A name stands for the defaults of its options. None, for which a network's
        configuration has a default, is refused.
    quirks : frozenset of str
        Those of the layer; see :mod:`daskdl.dialects`.

    Raises
    ------
    OptionError
        If there is none of that name.
    """
    if isinstance(activation, str) and activation in _WITHOUT_OPTIONS:
        # Layers ask in each pass: most need no search.
        return _WITHOUT_OPTIONS[activation]
    meant = found("activation_function", find_activation, activation)
    if isinstance(meant, ActivationDefinition):
        return defined(meant)
    return _made(meant, quirks)


@cache
def _made(activation: Any, quirks: Quirks) -> ActivationFunction:
    if not isinstance(activation, str):
        return _with_options(activation, quirks)
    if activation in _WITHOUT_OPTIONS:
        return _WITHOUT_OPTIONS[activation]
    if activation in _WITH_CONSTANTS:
        return _WITH_CONSTANTS[activation](rounds=_rounds_constants(quirks))
    return _with_options(_MODELS[activation](), quirks)


def _with_options(conf: Any, quirks: Quirks) -> ActivationFunction:
    rounds_slope = "rounds_slopes_in_derivatives" in quirks
    if isinstance(conf, Elu):
        return elu(conf.alpha, ignores_alpha="elu_gradient_ignores_alpha" in quirks)
    if isinstance(conf, Gelu) and conf.precise:
        cubes_products = "precise_gelu_cubes_products" in quirks
        return precise_gelu(cubes_products=cubes_products)
    if isinstance(conf, Gelu):
        return gelu(rounds=_rounds_constants(quirks))
    if isinstance(conf, LeakyRelu):
        return leaky_relu(conf.alpha, rounds=rounds_slope)
    if isinstance(conf, RRelu):
        return randomized_relu(
            conf.l,
            conf.u,
            passes_gradients="rrelu_passes_gradients" in quirks,
            compares="rrelu_compares_in_inference" in quirks,
        )
    if isinstance(conf, ThresholdedRelu):
        return thresholded_relu(conf.theta)
    if conf == Relu():
        return RELU
    return relu(
        conf.max,
        conf.negative_slope,
        conf.threshold,
        rounds=rounds_slope,
        cuts_by_input="relu_cuts_gradient_by_input" in quirks,
    )


def _rounds_constants(quirks: Quirks) -> bool:
    return "rounds_constants_of_activations" in quirks
