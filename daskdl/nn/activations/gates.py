"""The smooth functions between 0 and the input: softplus, and ``x`` times a gate."""

import math
from typing import Any

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.nn.activations.function import ActivationFunction, as_float32
from daskdl.nn.activations.sigmoids import stable_sigmoid

_GELU_SLOPE = 1.702
_GATE_SCALE = math.sqrt(2 / math.pi)
_GATE_CUBIC = 0.044715
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


def gelu(*, rounds: bool = False) -> ActivationFunction:
    """Return ``x * sigmoid(1.702 * x)``.

    Parameters
    ----------
    rounds : bool
        Whether the constant is one of float32, in float64 too.

    References
    ----------
    Hendrycks and Gimpel, *Gaussian Error Linear Units*, 2016, section 2.
    """
    steepness = as_float32(_GELU_SLOPE) if rounds else _GELU_SLOPE

    def forward(x: FloatArray, out: FloatArray) -> None:
        stable_sigmoid(steepness * x, out)
        out *= x

    def backward(
        grad: FloatArray, x: FloatArray, y: FloatArray, out: FloatArray
    ) -> None:
        xp = array_namespace(x)
        gate = stable_sigmoid(steepness * x, xp.empty_like(x))
        xp.multiply(grad, gate + steepness * y * (1 - gate), out=out)

    return ActivationFunction("gelu", forward, backward, reads_preout=True)


def precise_gelu(*, cubes_products: bool = False) -> ActivationFunction:
    """Return ``x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3)))``.

    Parameters
    ----------
    cubes_products : bool
        Whether the cube is that of ``0.044715 * x``, and the gradient has constants of
        six digits: up to 1e-4 beside the derivative.

    References
    ----------
    Hendrycks and Gimpel, *Gaussian Error Linear Units*, 2016, section 2.
    """

    def forward(x: FloatArray, out: FloatArray) -> None:
        xp = array_namespace(x)
        near = _near(x)
        if cubes_products:
            bent = _cube(_GATE_CUBIC * near)
        else:
            bent = _GATE_CUBIC * _cube(near)
        gate = xp.tanh(_GATE_SCALE * (near + bent))
        xp.multiply(x / 2, 1 + gate, out=out)

    def backward(
        grad: FloatArray, x: FloatArray, y: FloatArray, out: FloatArray
    ) -> None:
        xp = array_namespace(x)
        near = _near(x)
        if cubes_products:
            gate = xp.tanh(0.797885 * near + _cube(0.0356774 * near))
            slope = 0.398942 * near + _cube(0.0535161 * near)
        else:
            square = _GATE_CUBIC * near * near
            gate = xp.tanh(_GATE_SCALE * near * (1 + square))
            slope = _GATE_SCALE / 2 * near * (1 + 3 * square)
        slope *= 1 - gate * gate
        slope += 0.5 + 0.5 * gate
        xp.multiply(grad, slope, out=out)

    return ActivationFunction("gelu", forward, backward, reads_preout=True)


def _near(x: FloatArray) -> Any:
    return array_namespace(x).clip(x, -_GATE_LIMIT, _GATE_LIMIT)


def _cube(x: FloatArray) -> FloatArray:
    return x * x * x


SOFTPLUS = ActivationFunction("softplus", _softplus, _softplus_backward)
SWISH = ActivationFunction("swish", _swish, _swish_backward, reads_preout=True)
MISH = ActivationFunction("mish", _mish, _mish_backward, reads_preout=True)
