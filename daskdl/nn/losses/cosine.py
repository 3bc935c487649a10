"""The loss that compares directions."""

from typing import Any, ClassVar

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.dialects import Quirks
from daskdl.nn.activations.function import ActivationFunction
from daskdl.nn.conf.losses import AnyLoss
from daskdl.nn.losses.loss import LossFunction, drop

_SHORTEST = 1e-5


class CosineProximityLoss(LossFunction):
    """Minus the cosine of the angle between labels and output, of each row.

    Vectors count as at least 1e-5 long.
    """

    masks_single_outputs: ClassVar[bool] = False

    def __init__(self, conf: AnyLoss, quirks: Quirks) -> None:
        super().__init__(conf, quirks)
        self._cuts_squares = "cosine_proximity_cuts_squares" in quirks

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
        if self._cuts_squares:
            grad_output = output * product - labels * squared
            grad_output /= _length(labels) * _length(output)
            grad_output /= xp.maximum(squared, _SHORTEST)
        else:
            # Where the length is a constant, turning is all that counts.
            is_long = squared > _SHORTEST**2
            along = product * is_long / xp.maximum(squared, _SHORTEST**2)
            grad_output = output * along - labels
            grad_output /= _length(labels) * _length(output)
        activation.backward(grad_output, preout, output, out=out)


def _length(rows: FloatArray) -> Any:
    xp = array_namespace(rows)
    length = xp.sqrt(xp.sum(xp.square(rows), axis=-1, keepdims=True))
    return xp.maximum(length, _SHORTEST)
