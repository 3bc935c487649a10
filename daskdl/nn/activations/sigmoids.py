"""The functions that run from 0 to 1."""

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.kernels.activation import sigmoid_backward
from daskdl.nn.activations.function import ActivationFunction, as_float32, either

# DL4J rounds this to float32, also in float64 networks.
_HARD_SLOPE = as_float32(0.2)


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


def _sigmoid(x: FloatArray, out: FloatArray) -> None:
    stable_sigmoid(x, out)


def _sigmoid_backward(
    grad: FloatArray, x: FloatArray, y: FloatArray, out: FloatArray
) -> None:
    sigmoid_backward(grad, y, out=out)


def _hard_sigmoid(x: FloatArray, out: FloatArray) -> None:
    array_namespace(x).clip(_HARD_SLOPE * x + 0.5, 0, 1, out=out)


def _hard_sigmoid_backward(
    grad: FloatArray, x: FloatArray, y: FloatArray, out: FloatArray
) -> None:
    xp = array_namespace(x)
    xp.multiply(grad, either(xp.abs(x) <= 2.5, _HARD_SLOPE, 0, like=x), out=out)


SIGMOID = ActivationFunction("sigmoid", _sigmoid, _sigmoid_backward)
HARD_SIGMOID = ActivationFunction(
    "hardsigmoid", _hard_sigmoid, _hard_sigmoid_backward, reads_preout=True
)
