"""Softmax along the last axis."""

from daskdl.arrays.namespace import FloatArray
from daskdl.kernels.activation import softmax, softmax_backward
from daskdl.nn.activations.function import ActivationFunction


def _softmax(x: FloatArray, out: FloatArray) -> None:
    softmax(x, out=out)


def _softmax_backward(
    grad: FloatArray, x: FloatArray, y: FloatArray, out: FloatArray
) -> None:
    softmax_backward(grad, y, out=out)


SOFTMAX = ActivationFunction("softmax", _softmax, _softmax_backward)
