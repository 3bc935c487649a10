"""The functions that run from 0 to 1."""

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.kernels.activation import sigmoid_backward
from daskdl.nn.activations.function import ActivationFunction, as_float32, either

_HARD_SLOPE = 0.2


def stable_sigmoid(x: FloatArray, out: FloatArray) -> FloatArray:
    """Write 1 / (1 + exp(-x)) to `out`, an array like `x`, and return it.

    No number overflows, and the result is exact far from 0.
    """
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


def hard_sigmoid(*, rounds: bool = False) -> ActivationFunction:
    """Return ``0.2 * x + 0.5``, at least 0 and at most 1.

    Parameters
    ----------
    rounds : bool
        Whether the slope is one of float32, in float64 too.
    """
    slope = as_float32(_HARD_SLOPE) if rounds else _HARD_SLOPE

    def forward(x: FloatArray, out: FloatArray) -> None:
        array_namespace(x).clip(slope * x + 0.5, 0, 1, out=out)

    def backward(
        grad: FloatArray, x: FloatArray, y: FloatArray, out: FloatArray
    ) -> None:
        xp = array_namespace(x)
        xp.multiply(grad, either(xp.abs(x) <= 2.5, slope, 0, like=x), out=out)

    return ActivationFunction("hardsigmoid", forward, backward, reads_preout=True)


SIGMOID = ActivationFunction("sigmoid", _sigmoid, _sigmoid_backward)
