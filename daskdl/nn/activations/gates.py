"""The smooth functions between 0 and the input: softplus, and ``x`` times a gate."""

import math

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.nn.activations.function import ActivationFunction, as_float32
from daskdl.nn.activations.sigmoids import stable_sigmoid

# DL4J rounds this to float32, also in float64 networks.
_GELU_SLOPE = as_float32(1.702)
_GATE_LIMIT = 100.0  # tanh is -1 or 1 long before, and cubes of more overflow


def _softplus(x: FloatArray, out: FloatArray) -> None:
    array_namespace(x).logaddexp(x, x.dtype.type(0), out=out)


def _softplus_backward(
    grad: FloatArray, x: FloatArray, y: FloatArray, out: FloatArray
) -> None:
    xp = array_namespace(y)
    # sigmoid(x) = 1 - exp(-softplus(x))
    xp.multiply(grad, -xp.expm1(-y), out=out)


def _swish(x: FloatArray, out: FloatArray) -> None:
    stable_sigmoid(x, out)
    out *= x


def _swish_backward(
    grad: FloatArray, x: FloatArray, y: FloatArray, out: FloatArray
) -> None:
    xp = array_namespace(x)
    gate = stable_sigmoid(x, xp.empty_like(x))
    xp.multiply(grad, gate + y * (1 - gate), out=out)


def _mish(x: FloatArray, out: FloatArray) -> None:
    xp = array_namespace(x)
    _softplus(x, out)
    xp.tanh(out, out=out)
    out *= x


def _mish_backward(
    grad: FloatArray, x: FloatArray, y: FloatArray, out: FloatArray
) -> None:
    xp = array_namespace(x)
    gate = xp.tanh(xp.logaddexp(x, x.dtype.type(0)))
    slope = stable_sigmoid(x, xp.empty_like(x))
    slope *= x * (1 - gate * gate)
    slope += gate
    xp.multiply(grad, slope, out=out)


def _precise_gelu(x: FloatArray, out: FloatArray) -> None:
    xp = array_namespace(x)
    # DL4J takes the cube of the product; the paper multiplies the cube.
    near = xp.clip(x, -_GATE_LIMIT, _GATE_LIMIT)
    gate = xp.tanh(math.sqrt(2 / math.pi) * (near + _cube(0.044715 * near)))
    xp.multiply(x / 2, 1 + gate, out=out)


def _precise_gelu_backward(
    grad: FloatArray, x: FloatArray, y: FloatArray, out: FloatArray
) -> None:
    xp = array_namespace(x)
    # DL4J rounds the constants of the paper's gradient to six digits, and takes cubes
    # of products again: up to 1e-4 beside the derivative of the forward pass.
    near = xp.clip(x, -_GATE_LIMIT, _GATE_LIMIT)
    gate = xp.tanh(0.797885 * near + _cube(0.0356774 * near))
    slope = 0.398942 * near + _cube(0.0535161 * near)
    slope *= 1 - gate * gate
    slope += 0.5 + 0.5 * gate
    xp.multiply(grad, slope, out=out)


def _cube(x: FloatArray) -> FloatArray:
    return x * x * x


def _gelu(x: FloatArray, out: FloatArray) -> None:
    stable_sigmoid(_GELU_SLOPE * x, out)
    out *= x


def _gelu_backward(
    grad: FloatArray, x: FloatArray, y: FloatArray, out: FloatArray
) -> None:
    xp = array_namespace(x)
    gate = stable_sigmoid(_GELU_SLOPE * x, xp.empty_like(x))
    xp.multiply(grad, gate + _GELU_SLOPE * y * (1 - gate), out=out)


SOFTPLUS = ActivationFunction("softplus", _softplus, _softplus_backward)
SWISH = ActivationFunction("swish", _swish, _swish_backward, reads_preout=True)
MISH = ActivationFunction("mish", _mish, _mish_backward, reads_preout=True)
GELU = ActivationFunction("gelu", _gelu, _gelu_backward, reads_preout=True)
PRECISE_GELU = ActivationFunction(
    "gelu", _precise_gelu, _precise_gelu_backward, reads_preout=True
)
