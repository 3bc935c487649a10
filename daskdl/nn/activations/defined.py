"""Activations that users define, at work."""

from typing import Any

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.errors import ShapeError
from daskdl.nn.activations.function import ActivationFunction
from daskdl.nn.conf.activations import ActivationDefinition
from daskdl.nn.lent_arrays import read_only, reading


def defined(conf: ActivationDefinition) -> ActivationFunction:
    """Return the activation function of a definition."""

    def forward(preout: FloatArray, out: FloatArray) -> None:
        out[...] = _asked(conf, "forward", preout)

    def backward(
        grad_output: FloatArray, preout: FloatArray, output: FloatArray, out: FloatArray
    ) -> None:
        slope = _asked(conf, "derivative", preout)
        array_namespace(preout).multiply(grad_output, slope, out=out)

    return ActivationFunction(conf.type, forward, backward, reads_preout=True)


def _asked(conf: ActivationDefinition, method: str, preout: FloatArray) -> Any:
    """Return what a method makes of what it is lent, an array of the same shape."""
    who, function = type(conf).__name__, getattr(conf, method)
    lent = read_only(preout)
    made = reading(who, f"{method} must not write to x", lambda: function(lent))
    shape = getattr(made, "shape", type(made).__name__)
    if shape != preout.shape:
        raise ShapeError(
            f"{who}: {method} must return an array of shape {preout.shape}, got "
            f"{shape}."
        )
    return made
