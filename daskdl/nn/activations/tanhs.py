"""The functions that run from -1 to 1, and the positive half of one."""

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.kernels.activation import tanh_backward
from daskdl.nn.activations.function import ActivationFunction, as_float32

_RATIONAL_SCALE = 1.7159
_RATIONAL_QUARTIC = 1.41645
_RATIONAL_LIMIT = 1e4  # flat beyond in float64 too; its eighth power fits in float32


def _tanh(x: FloatArray, out: FloatArray) -> None:
    array_namespace(x).tanh(x, out=out)


def _tanh_backward(
    grad: FloatArray, x: FloatArray, y: FloatArray, out: FloatArray
) -> None:
    tanh_backward(grad, y, out=out)


def _rectified_tanh(x: FloatArray, out: FloatArray) -> None:
    xp = array_namespace(x)
    xp.tanh(x, out=out)
    xp.maximum(out, 0, out=out)


def _rectified_tanh_backward(
    grad: FloatArray, x: FloatArray, y: FloatArray, out: FloatArray
) -> None:
    array_namespace(y).multiply(grad, (1 - y * y) * (y > 0), out=out)


def _hard_tanh(x: FloatArray, out: FloatArray) -> None:
    array_namespace(x).clip(x, -1, 1, out=out)


def _hard_tanh_backward(
    grad: FloatArray, x: FloatArray, y: FloatArray, out: FloatArray
) -> None:
    xp = array_namespace(x)
    xp.multiply(grad, xp.abs(x) <= 1, out=out)


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


def rational_tanh(*, rounds: bool = False) -> ActivationFunction:
    """Return ``1.7159 * tanh(2 / 3 * x)``, with a rational function for tanh.

    It is ``sign(x) * 1.7159 * (1 - 1 / (1 + a + a**2 + 1.41645 * a**4))`` with
    ``a = |2 / 3 * x|``.

    Parameters
    ----------
    rounds : bool
        Whether the constants are those of float32, in float64 too.
    """
    scale = as_float32(_RATIONAL_SCALE) if rounds else _RATIONAL_SCALE
    quartic = as_float32(_RATIONAL_QUARTIC) if rounds else _RATIONAL_QUARTIC

    def forward(x: FloatArray, out: FloatArray) -> None:
        xp = array_namespace(x)
        size = xp.minimum(xp.abs(2 / 3 * x), _RATIONAL_LIMIT)
        below = 1 + size + size**2 + quartic * size**4
        xp.multiply(xp.sign(x), scale * (1 - 1 / below), out=out)

    def backward(
        grad: FloatArray, x: FloatArray, y: FloatArray, out: FloatArray
    ) -> None:
        xp = array_namespace(x)
        size = xp.minimum(xp.abs(2 / 3 * x), _RATIONAL_LIMIT)
        below = 1 + size + size**2 + quartic * size**4
        slope = 1 + 2 * size + 4 * quartic * size**3
        xp.multiply(grad, scale * 2 / 3 * slope / below**2, out=out)

    return ActivationFunction("rationaltanh", forward, backward, reads_preout=True)


TANH = ActivationFunction("tanh", _tanh, _tanh_backward)
RECTIFIED_TANH = ActivationFunction(
    "rectifiedtanh", _rectified_tanh, _rectified_tanh_backward
)
HARD_TANH = ActivationFunction(
    "hardtanh", _hard_tanh, _hard_tanh_backward, reads_preout=True
)
SOFTSIGN = ActivationFunction(
    "softsign", _softsign, _softsign_backward, reads_preout=True
)
