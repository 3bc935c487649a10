"""Activation functions as ONNX operators, composed of others where it has none."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from daskdl.errors import FormatError
from daskdl.formats.onnx.graph import Graph
from daskdl.nn.conf.activations import (
    ActivationDefinition,
    AnyActivation,
    Elu,
    Gelu,
    LeakyRelu,
    Relu,
    RRelu,
    ThresholdedRelu,
)
from daskdl.nn.conf.values import with_quirks

__all__ = ["Cell", "activate", "cell_activation"]

_RATIONAL_SCALE, _RATIONAL_QUARTIC = 1.7159, 1.41645
_RATIONAL_LIMIT = 1e4
_GELU_SLOPE = 1.702
_GATE_LIMIT = 100.0

_NAMES = {
    "hardsigmoid": ("HardSigmoid", {"alpha": 0.2, "beta": 0.5}),
    "selu": ("Selu", {"alpha": 1.6732632423543772, "gamma": 1.0507009873554805}),
    "sigmoid": ("Sigmoid", {}),
    "softplus": ("Softplus", {}),
    "softsign": ("Softsign", {}),
    "tanh": ("Tanh", {}),
}
# With options: those that a name alone stands for.
_DEFAULTS: dict[str, Any] = {
    "elu": Elu(),
    "gelu": Gelu(),
    "leakyrelu": LeakyRelu(),
    "relu": Relu(),
    "rrelu": RRelu(),
    "thresholdedrelu": ThresholdedRelu(),
}


class Cell(NamedTuple):
    """A function that the operators LSTM and RNN have built in.

    Parameters
    ----------
    name : str
        As ONNX calls it.
    options : tuple of float
        Nothing, alpha, or alpha and beta: what the function needs of them.
    """

    name: str
    options: tuple[float, ...] = ()


_CELLS = {
    "hardsigmoid": Cell("HardSigmoid", (0.2, 0.5)),
    "identity": Cell("Affine", (1.0, 0.0)),
    "sigmoid": Cell("Sigmoid"),
    "softplus": Cell("Softplus"),
    "softsign": Cell("Softsign"),
    "tanh": Cell("Tanh"),
}


def activate(graph: Graph, layer: Any, x: str, axis: int) -> str:
    """Add an activation function.

    Parameters
    ----------
    graph : Graph
        Gets the operators.
    layer : LayerConf
        Has the activation, and says what is computed otherwise than formulas say.
    x : str
        The value it is applied to.
    axis : int
        Along which a softmax works.

    Returns
    -------
    str
        The value that comes out.

    Raises
    ------
    FormatError
        If ONNX has no operators for it.
    """
    activation: AnyActivation = layer.activation
    conf = _DEFAULTS.get(activation, activation)  # type: ignore[arg-type]
    if isinstance(conf, ActivationDefinition):
        raise FormatError(
            f"ONNX: activation must be one that ONNX has operators for, got "
            f"{conf.type!r}."
        )
    if not isinstance(conf, str):
        conf = with_quirks(conf, layer.quirks)
        return _WITH_OPTIONS[type(conf)](graph, conf, x)
    if conf == "softmax":
        return graph.op("Softmax", x, axis=axis)
    if conf in _NAMES:
        kind, attributes = _NAMES[conf]
        return graph.op(kind, x, **attributes)
    return _COMPOSED[conf](graph, x)


def cell_activation(activation: AnyActivation) -> Cell | None:
    """Return the name of a function in ONNX's LSTM and RNN; None if they lack it."""
    if isinstance(activation, str) and activation in _CELLS:
        return _CELLS[activation]
    conf = _DEFAULTS.get(activation, activation)  # type: ignore[arg-type]
    if isinstance(conf, LeakyRelu):
        return Cell("LeakyRelu", (conf.alpha,))
    if isinstance(conf, Elu):
        return Cell("Elu", (conf.alpha,))
    if isinstance(conf, ThresholdedRelu):
        return Cell("ThresholdedRelu", (conf.theta,))
    return Cell("Relu") if conf == Relu() else None


def _elu(graph: Graph, conf: Elu, x: str) -> str:
    return graph.op("Elu", x, alpha=conf.alpha)


def _leaky_relu(graph: Graph, conf: LeakyRelu, x: str) -> str:
    return graph.op("LeakyRelu", x, alpha=conf.alpha)


def _thresholded_relu(graph: Graph, conf: ThresholdedRelu, x: str) -> str:
    return graph.op("ThresholdedRelu", x, alpha=conf.theta)


def _randomized_relu(graph: Graph, conf: RRelu, x: str) -> str:
    mean = (conf.l + conf.u) / 2
    if "rrelu_compares_in_inference" in conf.quirks:
        return graph.op("Max", x, graph.floats(mean))
    return graph.op("LeakyRelu", x, alpha=mean)


def _relu(graph: Graph, conf: Relu, x: str) -> str:
    if conf == Relu():
        return graph.op("Relu", x)
    start = graph.floats(conf.threshold or 0.0)
    below = graph.op("Sub", x, start)
    below = graph.op("Mul", below, graph.floats(conf.negative_slope or 0.0))
    is_above = graph.op("GreaterOrEqual", x, start)
    y = graph.op("Where", is_above, x, below)
    return y if conf.max is None else graph.op("Min", y, graph.floats(conf.max))


def _gelu(graph: Graph, conf: Gelu, x: str) -> str:
    if not conf.precise:
        gate = graph.op("Mul", x, graph.floats(_GELU_SLOPE))
        return graph.op("Mul", x, graph.op("Sigmoid", gate))
    limits = graph.floats(-_GATE_LIMIT), graph.floats(_GATE_LIMIT)
    near = graph.op("Clip", x, *limits)
    share = graph.floats(0.044715)
    if "precise_gelu_cubes_products" in conf.quirks:
        bent = _cube(graph, graph.op("Mul", near, share))
    else:
        bent = graph.op("Mul", _cube(graph, near), share)
    inner = graph.op("Add", near, bent)
    inner = graph.op("Mul", inner, graph.floats(math.sqrt(2 / math.pi)))
    gate = graph.op("Add", graph.op("Tanh", inner), graph.floats(1.0))
    return graph.op("Mul", graph.op("Mul", x, graph.floats(0.5)), gate)


def _identity(graph: Graph, x: str) -> str:
    return x


def _cube(graph: Graph, x: str) -> str:
    return graph.op("Mul", graph.op("Mul", x, x), x)


def _hard_tanh(graph: Graph, x: str) -> str:
    return graph.op("Clip", x, graph.floats(-1.0), graph.floats(1.0))


def _relu6(graph: Graph, x: str) -> str:
    return graph.op("Clip", x, graph.floats(0.0), graph.floats(6.0))


def _rectified_tanh(graph: Graph, x: str) -> str:
    return graph.op("Relu", graph.op("Tanh", x))


def _swish(graph: Graph, x: str) -> str:
    return graph.op("Mul", x, graph.op("Sigmoid", x))


def _mish(graph: Graph, x: str) -> str:
    return graph.op("Mul", x, graph.op("Tanh", graph.op("Softplus", x)))


def _rational_tanh(graph: Graph, x: str) -> str:
    size = graph.op("Abs", graph.op("Mul", x, graph.floats(2 / 3)))
    size = graph.op("Min", size, graph.floats(_RATIONAL_LIMIT))
    square = graph.op("Mul", size, size)
    quartic = graph.op("Mul", square, square)
    quartic = graph.op("Mul", quartic, graph.floats(_RATIONAL_QUARTIC))
    below = graph.op("Sum", graph.floats(1.0), size, square, quartic)
    share = graph.op("Sub", graph.floats(1.0), graph.op("Reciprocal", below))
    share = graph.op("Mul", share, graph.floats(_RATIONAL_SCALE))
    return graph.op("Mul", graph.op("Sign", x), share)


_WITH_OPTIONS: dict[type, Callable[[Graph, Any, str], str]] = {
    Elu: _elu,
    Gelu: _gelu,
    LeakyRelu: _leaky_relu,
    Relu: _relu,
    RRelu: _randomized_relu,
    ThresholdedRelu: _thresholded_relu,
}
_COMPOSED: dict[str, Callable[[Graph, str], str]] = {
    "cube": _cube,
    "hardtanh": _hard_tanh,
    "identity": _identity,
    "mish": _mish,
    "rationaltanh": _rational_tanh,
    "rectifiedtanh": _rectified_tanh,
    "relu6": _relu6,
    "swish": _swish,
}
