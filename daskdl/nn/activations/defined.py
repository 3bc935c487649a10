"""Activations that users define, at work."""

from typing import Any

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.errors import ShapeError
from daskdl.nn.activations.function import ActivationFunction
from daskdl.nn.conf.activations import ActivationDefinition


def defined(conf: ActivationDefinition) -> ActivationFunction:
    """Return the activation function of a definition."""

    def forward(preout: FloatArray, out: FloatArray) -> None:
        made = conf.forward(preout)
        _check(conf, "forward", made, preout)
        out[...] = made

    def backward(
        grad_output: FloatArray, preout: FloatArray, output: FloatArray, out: FloatArray
    ) -> None:
        slope = conf.derivative(preout)
        _check(conf, "derivative", slope, preout)
        array_namespace(preout).multiply(grad_output, slope, out=out)

    return ActivationFunction(conf.type, forward, backward, reads_preout=True)


def _check(conf: ActivationDefinition, by: str, made: Any, like: FloatArray) -> None:
    shape = getattr(made, "shape", type(made).__name__)
    if shape != like.shape:
        raise ShapeError(
            f"{type(conf).__name__}: {by} must return an array of shape {like.shape}, "
            f"got {shape}."
        )
