"""The functions that are the input itself from a threshold on."""

import numpy as np

from daskdl.arrays.namespace import FloatArray, array_namespace, to_device
from daskdl.kernels.activation import leaky_relu as leaky_relu_forward
from daskdl.kernels.activation import leaky_relu_backward, relu_backward
from daskdl.nn.activations.function import ActivationFunction, as_float32, either


def _relu(x: FloatArray, out: FloatArray) -> None:
    array_namespace(x).maximum(x, 0, out=out)


def _relu_backward(
    grad: FloatArray, x: FloatArray, y: FloatArray, out: FloatArray
) -> None:
    relu_backward(grad, y, out=out)


def _relu6(x: FloatArray, out: FloatArray) -> None:
    xp = array_namespace(x)
    xp.maximum(x, 0, out=out)
    xp.minimum(out, 6, out=out)


def _relu6_backward(
    grad: FloatArray, x: FloatArray, y: FloatArray, out: FloatArray
) -> None:
    array_namespace(y).multiply(grad, (y > 0) & (y < 6), out=out)


RELU = ActivationFunction("relu", _relu, _relu_backward)
RELU6 = ActivationFunction("relu6", _relu6, _relu6_backward)


def relu(
    max_value: float | None,
    negative_slope: float | None,
    threshold: float | None,
    *,
    rounds: bool = False,
    cuts_by_input: bool = False,
) -> ActivationFunction:
    """Return the rectifier with all that can be added to it.

    It is ``x`` from `threshold` on and ``negative_slope * (x - threshold)`` below, and
    then at most `max_value`.

    Parameters
    ----------
    max_value, negative_slope, threshold : float, optional
        None leaves an option out.
    rounds : bool
        Whether the derivative has the slope as float32, if there is no threshold.
    cuts_by_input : bool
        Whether the gradient is 0 where `x` is not below `max_value`, instead of where
        the output is not.
    """
    start = threshold or 0.0
    slope = negative_slope or 0.0
    slope_backward = as_float32(slope) if rounds and not start else slope

    def forward(x: FloatArray, out: FloatArray) -> None:
        xp = array_namespace(x)
        below = slope * (x - start)
        xp.copyto(out, xp.where(x >= start, x, below))
        if max_value is not None:
            xp.minimum(out, max_value, out=out)

    def backward(
        grad: FloatArray, x: FloatArray, y: FloatArray, out: FloatArray
    ) -> None:
        # At its kink the plain rectifier has the slope 0, and the others 1.
        above = x >= start if start or slope else x > start
        factor = either(above, 1, slope_backward, like=x)
        if max_value is not None:
            factor *= (x if cuts_by_input else y) < max_value
        array_namespace(x).multiply(grad, factor, out=out)

    return ActivationFunction("relu", forward, backward, reads_preout=True)


def thresholded_relu(theta: float) -> ActivationFunction:
    """Return the function that is ``x`` above `theta`, and 0 up to it."""

    def forward(x: FloatArray, out: FloatArray) -> None:
        array_namespace(x).multiply(x, x > theta, out=out)

    def backward(
        grad: FloatArray, x: FloatArray, y: FloatArray, out: FloatArray
    ) -> None:
        array_namespace(x).multiply(grad, x > theta, out=out)

    return ActivationFunction("thresholdedrelu", forward, backward, reads_preout=True)


def leaky_relu(alpha: float, *, rounds: bool = False) -> ActivationFunction:
    """Return the function that is ``x`` from 0 on, and ``alpha * x`` below.

    Parameters
    ----------
    alpha : float
        The slope below 0.
    rounds : bool
        Whether the derivative has it as float32, in float64 too.
    """
    alpha_backward = as_float32(alpha) if rounds else alpha
    # Only with a positive slope the sign of the output says that of the input.
    reads_preout = alpha <= 0

    def forward(x: FloatArray, out: FloatArray) -> None:
        leaky_relu_forward(x, alpha, out=out)

    def backward(
        grad: FloatArray, x: FloatArray, y: FloatArray, out: FloatArray
    ) -> None:
        sign = x if reads_preout else y
        leaky_relu_backward(grad, sign, alpha_backward, out=out)

    return ActivationFunction("leakyrelu", forward, backward, reads_preout=reads_preout)


def randomized_relu(
    lower: float,
    upper: float,
    *,
    passes_gradients: bool = False,
    compares: bool = False,
) -> ActivationFunction:
    """Return the rectifier whose slope below 0 is drawn for each number in training.

    Otherwise the slope is the mean of the bounds.

    Parameters
    ----------
    lower, upper : float
        Bounds of the slopes.
    passes_gradients : bool
        Whether the gradient is that of the identity, whatever was drawn.
    compares : bool
        Whether inference takes the larger of `x` and the mean slope.

    References
    ----------
    Xu et al., *Empirical Evaluation of Rectified Activations*, 2015, section 3.4, with
    slopes that multiply instead of divisors.
    """
    mean = (lower + upper) / 2

    def forward(x: FloatArray, out: FloatArray) -> None:
        xp = array_namespace(x)
        if compares:
            xp.maximum(x, mean, out=out)
        else:
            xp.multiply(x, either(x < 0, mean, 1, like=x), out=out)

    def random_forward(
        x: FloatArray, out: FloatArray, rng: np.random.Generator
    ) -> None:
        xp = array_namespace(x)
        # Drawn on the host, so that CPU and GPU get the same slopes.
        drawn = lower + (upper - lower) * rng.random(x.shape, dtype=x.dtype.type)
        slope = to_device(drawn, like=x)
        xp.multiply(x, xp.where(x < 0, slope, x.dtype.type(1)), out=out)

    def backward(
        grad: FloatArray, x: FloatArray, y: FloatArray, out: FloatArray
    ) -> None:
        if passes_gradients:
            if out is not grad:
                out[...] = grad
            return
        xp = array_namespace(x)
        # The slopes that were drawn are what the input was multiplied by.
        is_below, one = x < 0, x.dtype.type(1)
        slope = xp.where(is_below, y / xp.where(is_below, x, one), one)
        xp.multiply(grad, slope, out=out)

    return ActivationFunction(
        "rrelu",
        forward,
        backward,
        reads_preout=not passes_gradients,
        _random_forward=random_forward,
    )
