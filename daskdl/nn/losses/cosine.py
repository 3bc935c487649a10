"""The loss that compares directions."""

from typing import Any, ClassVar

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.nn.activations.function import ActivationFunction
from daskdl.nn.losses.loss import LossFunction, drop

_SHORTEST = 1e-5  # DL4J's, for the lengths and again for the squared one


class CosineProximityLoss(LossFunction):
    """Minus the cosine of the angle between labels and output, of each row."""

    masks_single_outputs: ClassVar[bool] = False

    def _score_rows(
        self,
        labels: FloatArray,
        preout: FloatArray,
        output: FloatArray,
        activation: ActivationFunction,
        factor: FloatArray | None,
    ) -> FloatArray:
        product = array_namespace(output).sum(labels * output, axis=-1)
        rows: FloatArray = -product / (_length(labels) * _length(output))[:, 0]
        if factor is not None:
            drop(rows, factor[:, 0])
        return rows

    def _write_gradient(
        self,
        labels: FloatArray,
        preout: FloatArray,
        output: FloatArray,
        activation: ActivationFunction,
        factor: FloatArray | None,
        out: FloatArray,
    ) -> None:
        xp = array_namespace(output)
        squared = xp.sum(xp.square(output), axis=-1, keepdims=True)
        product = xp.sum(labels * output, axis=-1, keepdims=True)
        grad_output = output * product - labels * squared
        grad_output /= _length(labels) * _length(output)
        grad_output /= xp.maximum(squared, _SHORTEST)
        activation.backward(grad_output, preout, output, out=out)


def _length(rows: FloatArray) -> Any:
    xp = array_namespace(rows)
    length = xp.sqrt(xp.sum(xp.square(rows), axis=-1, keepdims=True))
    return xp.maximum(length, _SHORTEST)
