"""Activation functions, forward beside backward, and the one table of their names.

Formulas, constants and the derivatives at kinks are those of DL4J 1.0.0-M2.1, with one
difference: DL4J rounds some constants to float32 even in float64 networks (0.2 of the
hard sigmoid, 1.702 of gelu), which moves results by up to 1e-7.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.checks import check_one_of

Forward = Callable[[FloatArray, FloatArray], None]
Backward = Callable[[FloatArray, FloatArray, FloatArray, FloatArray], None]

_SELU_SCALE = 1.0507009873554805
_SELU_ALPHA = 1.6732632423543772
_LEAKY_SLOPE = 0.01
_GELU_SLOPE = 1.702
_RATIONAL_SCALE = 1.7159
_RATIONAL_QUARTIC = 1.41645
_RATIONAL_LIMIT = 1e4  # flat beyond in float64 too; its eighth power fits in float32


@dataclass(frozen=True)
class ActivationFunction:
    """A function of pre-activations and its gradient.

    Parameters
    ----------
    name : str
        DL4J's name in lower case.
    reads_preout : bool
        Whether the gradient is computed from the pre-activations. Where not, the
        forward pass may overwrite them: ``forward(preout, out=preout)``.
    """

    name: str
    _forward: Forward
    _backward: Backward
    reads_preout: bool = False

    def forward(
        self, preout: FloatArray, *, out: FloatArray | None = None
    ) -> FloatArray:
        """Compute the function.

        Parameters
        ----------
        preout : ndarray of shape (..., n), float
            Softmax works along the last axis, the others on each element.
        out : ndarray like preout, optional
            Overwritten; may be `preout` itself unless `reads_preout`. By default a
            new array.

        Returns
        -------
        out : ndarray
        """
        out = array_namespace(preout).empty_like(preout) if out is None else out
        self._forward(preout, out)
        return out

    def backward(
        self,
        grad_output: FloatArray,
        preout: FloatArray,
        output: FloatArray,
        *,
        out: FloatArray | None = None,
    ) -> FloatArray:
        """Compute the gradient in the pre-activations.

        Parameters
        ----------
        grad_output : ndarray of shape (..., n), float
            Gradient of the loss in the output.
        preout, output : ndarray like grad_output
            What :meth:`forward` saw and returned. Not changed.
        out : ndarray like grad_output, optional
            Overwritten; may be `grad_output` itself. By default a new array.

        Returns
        -------
        out : ndarray
        """
        if out is None:
            out = array_namespace(output).empty_like(grad_output)
        self._backward(grad_output, preout, output, out)
        return out


def activation_function(name: str) -> ActivationFunction:
    """Return the activation function called `name`.

    Raises
    ------
    OptionError
        If there is none of that name.
    """
    check_one_of("activation_function", "name", name, ACTIVATIONS)
    return ACTIVATIONS[name]


def stable_sigmoid(x: FloatArray, out: FloatArray) -> FloatArray:
    """Write 1 / (1 + exp(-x)) to `out`, without overflow and exact far from 0."""
    xp = array_namespace(x)
    # exp of more than this overflows; the result is 0 to all digits there.
    limit = 88.0 if x.dtype.itemsize == 4 else 709.0
    # The gates of an LSTM are columns: five operations on those take twice as long.
    work = out if out.flags.c_contiguous else xp.empty(out.shape, dtype=out.dtype)
    xp.negative(x, out=work)
    xp.minimum(work, limit, out=work)
    xp.exp(work, out=work)
    work += 1
    xp.divide(1, work, out=out)
    return out


def _either(condition: Any, yes: Any, no: Any, like: FloatArray) -> Any:
    """Return ``where``, in the dtype of `like` also for two plain numbers."""
    xp = array_namespace(like)
    return xp.where(condition, xp.asarray(yes, like.dtype), xp.asarray(no, like.dtype))


def _identity(x: FloatArray, out: FloatArray) -> None:
    if out is not x:
        out[...] = x


def _identity_backward(
    grad: FloatArray, x: FloatArray, y: FloatArray, out: FloatArray
) -> None:
    if out is not grad:
        out[...] = grad


def _relu(x: FloatArray, out: FloatArray) -> None:
    array_namespace(x).maximum(x, 0, out=out)


def _positive_backward(
    grad: FloatArray, x: FloatArray, y: FloatArray, out: FloatArray
) -> None:
    array_namespace(y).multiply(grad, y > 0, out=out)


def _relu6(x: FloatArray, out: FloatArray) -> None:
    xp = array_namespace(x)
    xp.maximum(x, 0, out=out)
    xp.minimum(out, 6, out=out)


def _relu6_backward(
    grad: FloatArray, x: FloatArray, y: FloatArray, out: FloatArray
) -> None:
    array_namespace(y).multiply(grad, (y > 0) & (y < 6), out=out)


def _thresholded_relu(x: FloatArray, out: FloatArray) -> None:
    array_namespace(x).multiply(x, x > 1, out=out)


def _leaky_relu(x: FloatArray, out: FloatArray) -> None:
    xp = array_namespace(x)
    xp.maximum(x, _LEAKY_SLOPE * x, out=out)


def _leaky_relu_backward(
    grad: FloatArray, x: FloatArray, y: FloatArray, out: FloatArray
) -> None:
    slope = _either(y >= 0, 1, _LEAKY_SLOPE, like=y)
    array_namespace(y).multiply(grad, slope, out=out)


def _elu(x: FloatArray, out: FloatArray) -> None:
    xp = array_namespace(x)
    out[...] = xp.where(x >= 0, x, xp.expm1(xp.minimum(x, 0)))


def _elu_backward(
    grad: FloatArray, x: FloatArray, y: FloatArray, out: FloatArray
) -> None:
    array_namespace(y).multiply(grad, _either(y >= 0, 1, y + 1, like=y), out=out)


def _selu(x: FloatArray, out: FloatArray) -> None:
    xp = array_namespace(x)
    negative = _SELU_ALPHA * xp.expm1(xp.minimum(x, 0))
    xp.multiply(xp.where(x > 0, x, negative), _SELU_SCALE, out=out)


def _selu_backward(
    grad: FloatArray, x: FloatArray, y: FloatArray, out: FloatArray
) -> None:
    below = y + _SELU_SCALE * _SELU_ALPHA
    slope = _either(y > 0, _SELU_SCALE, below, like=y)
    array_namespace(y).multiply(grad, slope, out=out)


def _sigmoid(x: FloatArray, out: FloatArray) -> None:
    stable_sigmoid(x, out)


def _sigmoid_backward(
    grad: FloatArray, x: FloatArray, y: FloatArray, out: FloatArray
) -> None:
    slope = 1 - y
    slope *= y
    array_namespace(y).multiply(grad, slope, out=out)


def _tanh(x: FloatArray, out: FloatArray) -> None:
    array_namespace(x).tanh(x, out=out)


def _tanh_backward(
    grad: FloatArray, x: FloatArray, y: FloatArray, out: FloatArray
) -> None:
    array_namespace(y).multiply(grad, 1 - y * y, out=out)


def _rectified_tanh(x: FloatArray, out: FloatArray) -> None:
    xp = array_namespace(x)
    xp.tanh(x, out=out)
    xp.maximum(out, 0, out=out)


def _rectified_tanh_backward(
    grad: FloatArray, x: FloatArray, y: FloatArray, out: FloatArray
) -> None:
    array_namespace(y).multiply(grad, (1 - y * y) * (y > 0), out=out)


def _softmax(x: FloatArray, out: FloatArray) -> None:
    xp = array_namespace(x)
    xp.subtract(x, xp.max(x, axis=-1, keepdims=True), out=out)
    xp.exp(out, out=out)
    out /= xp.sum(out, axis=-1, keepdims=True)


def _softmax_backward(
    grad: FloatArray, x: FloatArray, y: FloatArray, out: FloatArray
) -> None:
    xp = array_namespace(y)
    mean = xp.sum(grad * y, axis=-1, keepdims=True)
    xp.subtract(grad, mean, out=out)
    out *= y


def _hard_sigmoid(x: FloatArray, out: FloatArray) -> None:
    array_namespace(x).clip(0.2 * x + 0.5, 0, 1, out=out)


def _hard_sigmoid_backward(
    grad: FloatArray, x: FloatArray, y: FloatArray, out: FloatArray
) -> None:
    xp = array_namespace(x)
    xp.multiply(grad, _either(xp.abs(x) <= 2.5, 0.2, 0, like=x), out=out)


def _hard_tanh(x: FloatArray, out: FloatArray) -> None:
    array_namespace(x).clip(x, -1, 1, out=out)


def _hard_tanh_backward(
    grad: FloatArray, x: FloatArray, y: FloatArray, out: FloatArray
) -> None:
    xp = array_namespace(x)
    xp.multiply(grad, xp.abs(x) <= 1, out=out)


def _softplus(x: FloatArray, out: FloatArray) -> None:
    array_namespace(x).logaddexp(x, x.dtype.type(0), out=out)


def _softplus_backward(
    grad: FloatArray, x: FloatArray, y: FloatArray, out: FloatArray
) -> None:
    xp = array_namespace(y)
    # sigmoid(x) = 1 - exp(-softplus(x))
    xp.multiply(grad, -xp.expm1(-y), out=out)


def _softsign(x: FloatArray, out: FloatArray) -> None:
    xp = array_namespace(x)
    xp.divide(x, 1 + xp.abs(x), out=out)


def _softsign_backward(
    grad: FloatArray, x: FloatArray, y: FloatArray, out: FloatArray
) -> None:
    xp = array_namespace(x)
    # From x: 1 - |y| has lost all digits of a large x.
    shrink = 1 / (1 + xp.abs(x))
    xp.multiply(grad, shrink * shrink, out=out)


def _swish(x: FloatArray, out: FloatArray) -> None:
    stable_sigmoid(x, out)
    out *= x


def _swish_backward(
    grad: FloatArray, x: FloatArray, y: FloatArray, out: FloatArray
) -> None:
    xp = array_namespace(x)
    gate = stable_sigmoid(x, xp.empty_like(x))
    xp.multiply(grad, gate + y * (1 - gate), out=out)


def _gelu(x: FloatArray, out: FloatArray) -> None:
    stable_sigmoid(_GELU_SLOPE * x, out)
    out *= x


def _gelu_backward(
    grad: FloatArray, x: FloatArray, y: FloatArray, out: FloatArray
) -> None:
    xp = array_namespace(x)
    gate = stable_sigmoid(_GELU_SLOPE * x, xp.empty_like(x))
    xp.multiply(grad, gate + _GELU_SLOPE * y * (1 - gate), out=out)


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


def _cube(x: FloatArray, out: FloatArray) -> None:
    array_namespace(x).multiply(x * x, x, out=out)


def _cube_backward(
    grad: FloatArray, x: FloatArray, y: FloatArray, out: FloatArray
) -> None:
    array_namespace(x).multiply(grad, 3 * x * x, out=out)


def _rational_tanh(x: FloatArray, out: FloatArray) -> None:
    xp = array_namespace(x)
    size = xp.minimum(xp.abs(2 / 3 * x), _RATIONAL_LIMIT)
    below = 1 + size + size**2 + _RATIONAL_QUARTIC * size**4
    xp.multiply(xp.sign(x), _RATIONAL_SCALE * (1 - 1 / below), out=out)


def _rational_tanh_backward(
    grad: FloatArray, x: FloatArray, y: FloatArray, out: FloatArray
) -> None:
    xp = array_namespace(x)
    size = xp.minimum(xp.abs(2 / 3 * x), _RATIONAL_LIMIT)
    below = 1 + size + size**2 + _RATIONAL_QUARTIC * size**4
    slope = 1 + 2 * size + 4 * _RATIONAL_QUARTIC * size**3
    xp.multiply(grad, _RATIONAL_SCALE * 2 / 3 * slope / below**2, out=out)


ACTIVATIONS: dict[str, ActivationFunction] = {
    function.name: function
    for function in (
        ActivationFunction("cube", _cube, _cube_backward, reads_preout=True),
        ActivationFunction("elu", _elu, _elu_backward),
        ActivationFunction("gelu", _gelu, _gelu_backward, reads_preout=True),
        ActivationFunction(
            "hardsigmoid", _hard_sigmoid, _hard_sigmoid_backward, reads_preout=True
        ),
        ActivationFunction(
            "hardtanh", _hard_tanh, _hard_tanh_backward, reads_preout=True
        ),
        ActivationFunction("identity", _identity, _identity_backward),
        ActivationFunction("leakyrelu", _leaky_relu, _leaky_relu_backward),
        ActivationFunction("mish", _mish, _mish_backward, reads_preout=True),
        ActivationFunction(
            "rationaltanh", _rational_tanh, _rational_tanh_backward, reads_preout=True
        ),
        ActivationFunction("rectifiedtanh", _rectified_tanh, _rectified_tanh_backward),
        ActivationFunction("relu", _relu, _positive_backward),
        ActivationFunction("relu6", _relu6, _relu6_backward),
        ActivationFunction("selu", _selu, _selu_backward),
        ActivationFunction("sigmoid", _sigmoid, _sigmoid_backward),
        ActivationFunction("softmax", _softmax, _softmax_backward),
        ActivationFunction("softplus", _softplus, _softplus_backward),
        ActivationFunction(
            "softsign", _softsign, _softsign_backward, reads_preout=True
        ),
        ActivationFunction("swish", _swish, _swish_backward, reads_preout=True),
        ActivationFunction("tanh", _tanh, _tanh_backward),
        ActivationFunction("thresholdedrelu", _thresholded_relu, _positive_backward),
    )
}
