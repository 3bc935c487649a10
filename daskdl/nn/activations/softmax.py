"""Softmax along the last axis."""

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.nn.activations.function import ActivationFunction, room_beside


def _softmax(x: FloatArray, out: FloatArray) -> None:
    xp = array_namespace(x)
    xp.subtract(x, xp.max(x, axis=-1, keepdims=True), out=out)
    xp.exp(out, out=out)
    out /= xp.sum(out, axis=-1, keepdims=True)


def _softmax_backward(
    grad: FloatArray, x: FloatArray, y: FloatArray, out: FloatArray
) -> None:
    xp = array_namespace(y)
    products = xp.multiply(grad, y, out=room_beside(grad, out))
    mean = xp.sum(products, axis=-1, keepdims=True)
    xp.subtract(grad, mean, out=out)
    out *= y


SOFTMAX = ActivationFunction("softmax", _softmax, _softmax_backward)
