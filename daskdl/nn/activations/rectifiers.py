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
    max_value: float | None, negative_slope: float | None, threshold: float | None
) -> ActivationFunction:
    """Return the rectifier with what DL4J's `ActivationReLU` can add to it.

    It is ``x`` from `threshold` on and ``negative_slope * (x - threshold)`` below, and
    then at most `max_value`. None leaves an option out.
    """
    start = threshold or 0.0
    slope = negative_slope or 0.0
    # DL4J's kernel for the derivative takes the slope as float32, the other does not.
    slope_backward = slope if start else as_float32(slope)

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
            factor *= x < max_value
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


def leaky_relu(alpha: float) -> ActivationFunction:
    """Return the function that is ``x`` from 0 on, and ``alpha * x`` below."""
    # DL4J's kernel for the derivative takes the slope as float32, the other does not.
    alpha_backward = as_float32(alpha)
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


def randomized_relu(lower: float, upper: float) -> ActivationFunction:
    """Return the rectifier whose slope below 0 is drawn for each number in training.

    References
    ----------
    Xu et al., *Empirical Evaluation of Rectified Activations*, 2015, in the variant of
    DL4J's `ActivationRReLU`, which differs in inference and in the gradient.
    """
    mean = (lower + upper) / 2

    def forward(x: FloatArray, out: FloatArray) -> None:
        # DL4J compares with the mean slope instead of multiplying by it.
        array_namespace(x).maximum(x, mean, out=out)

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
        # DL4J's gradient is that of the identity, whatever was drawn.
        if out is not grad:
            out[...] = grad

    return ActivationFunction(
        "rrelu", forward, backward, _random_forward=random_forward
    )
