"""The functions that are powers of their input."""

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.nn.activations.function import ActivationFunction


def _identity(x: FloatArray, out: FloatArray) -> None:
    if out is not x:
        out[...] = x


def _identity_backward(
    grad: FloatArray, x: FloatArray, y: FloatArray, out: FloatArray
) -> None:
    if out is not grad:
        out[...] = grad


def _cube(x: FloatArray, out: FloatArray) -> None:
    array_namespace(x).multiply(x * x, x, out=out)


def _cube_backward(
    grad: FloatArray, x: FloatArray, y: FloatArray, out: FloatArray
) -> None:
    array_namespace(x).multiply(grad, 3 * x * x, out=out)


IDENTITY = ActivationFunction("identity", _identity, _identity_backward)
CUBE = ActivationFunction("cube", _cube, _cube_backward, reads_preout=True)
