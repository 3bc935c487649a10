"""The functions that are linear above 0 and exponential below."""

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.nn.activations.function import ActivationFunction, either

_SCALE = 1.0507009873554805
_ALPHA = 1.6732632423543772


def _selu(x: FloatArray, out: FloatArray) -> None:
    xp = array_namespace(x)
    negative = _ALPHA * xp.expm1(xp.minimum(x, 0))
    xp.multiply(xp.where(x > 0, x, negative), _SCALE, out=out)


def _selu_backward(
    grad: FloatArray, x: FloatArray, y: FloatArray, out: FloatArray
) -> None:
    below = y + _SCALE * _ALPHA
    slope = either(y > 0, _SCALE, below, like=y)
    array_namespace(y).multiply(grad, slope, out=out)


SELU = ActivationFunction("selu", _selu, _selu_backward)


def elu(alpha: float, *, ignores_alpha: bool = False) -> ActivationFunction:
    """Return the function that is ``x`` from 0 on, else ``alpha * (exp(x) - 1)``.

    Parameters
    ----------
    alpha : float
        What comes out goes down to its negative.
    ignores_alpha : bool
        Whether the gradient takes `alpha` for 1.

    References
    ----------
    Clevert et al., *Fast and Accurate Deep Network Learning by Exponential Linear
    Units*, 2015.
    """
    slope_below = 1.0 if ignores_alpha else alpha

    def forward(x: FloatArray, out: FloatArray) -> None:
        xp = array_namespace(x)
        out[...] = xp.where(x >= 0, x, alpha * xp.expm1(xp.minimum(x, 0)))

    def backward(
        grad: FloatArray, x: FloatArray, y: FloatArray, out: FloatArray
    ) -> None:
        xp = array_namespace(x)
        slope = slope_below * xp.exp(xp.minimum(x, 0))
        xp.multiply(grad, either(x >= 0, 1, slope, like=x), out=out)

    def backward_from_output(
        grad: FloatArray, x: FloatArray, y: FloatArray, out: FloatArray
    ) -> None:
        slope = either(y >= 0, 1, y + alpha, like=y)
        array_namespace(y).multiply(grad, slope, out=out)

    # Only with a positive alpha the sign of the output says that of the input.
    if alpha > 0 and slope_below == alpha:
        return ActivationFunction("elu", forward, backward_from_output)
    return ActivationFunction("elu", forward, backward, reads_preout=True)
