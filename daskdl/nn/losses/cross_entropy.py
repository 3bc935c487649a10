"""The cross entropies of classes: of shares, of class numbers, and of two shares."""

from typing import Any

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.dialects import Quirks
from daskdl.errors import OptionError
from daskdl.kernels.cross_entropy import cross_entropy_rows, softmax_gradient
from daskdl.nn.activations.function import ActivationFunction
from daskdl.nn.conf.losses import AnyLoss
from daskdl.nn.losses.loss import LossFunction, drop

_USUAL_CLIP = 1e-10


class CrossEntropyLoss(LossFunction):
    """``-labels * log(output)``, whose gradient in a softmax is a difference.

    It is ``output * sum(labels) - labels``, where weights, a mask of single outputs and
    a clip are factors of the labels.

    Parameters
    ----------
    conf, quirks
        As for :class:`~daskdl.nn.losses.loss.LossFunction`.
    """

    def __init__(self, conf: AnyLoss, quirks: Quirks) -> None:
        super().__init__(conf, quirks)
        self._clips_slope = "softmax_is_clipped_in_scores" not in quirks
        self._takes_sums_for_1 = "softmax_labels_count_as_shares" in quirks
        self._refuses_masks = "softmax_refuses_masks_of_outputs" in quirks
        clip: float | None = getattr(conf, "softmax_clip_eps", None)
        usual = 0.0 if self._clips_slope else _USUAL_CLIP
        self._clip = usual if clip is None else clip

    def _score_rows(
        self,
        labels: FloatArray,
        preout: FloatArray,
        output: FloatArray,
        activation: ActivationFunction,
        factor: FloatArray | None,
    ) -> FloatArray:
        if self._weights is not None:
            labels = labels * array_namespace(labels).asarray(
                self._weights, labels.dtype
            )
        low, high = self._limits(output, activation)
        if factor is None or factor.shape[1] == 1:
            rows = cross_entropy_rows(labels, output, low, high)
            if factor is not None:
                drop(rows, factor[:, 0])
            return rows
        scores = -labels * array_namespace(output).log(output.clip(low, high))
        drop(scores, factor)
        total: FloatArray = scores.sum(axis=-1)
        return total

    def _write_gradient(
        self,
        labels: FloatArray,
        preout: FloatArray,
        output: FloatArray,
        activation: ActivationFunction,
        factor: FloatArray | None,
        out: FloatArray,
    ) -> None:
        masked = factor if self._masks_outputs(factor, preout) else None
        if activation.name == "softmax":
            self._write_difference(labels, output, masked, out)
            return
        grad_output = -labels / above_zero(output)
        if masked is not None:
            drop(grad_output, masked)
        activation.backward(grad_output, preout, output, out=out)
        self._weigh(out)

    def _write_difference(
        self,
        labels: FloatArray,
        output: FloatArray,
        masked: FloatArray | None,
        out: FloatArray,
    ) -> None:
        if masked is not None and self._refuses_masks and masked.shape[1] > 1:
            raise OptionError(
                f"Loss {self.name!r}: a mask of single outputs needs an activation "
                f"other than softmax, got shape {masked.shape}. Mask whole examples, "
                "or use sigmoid with xent."
            )
        if self._weights is None and self._takes_sums_for_1:
            array_namespace(output).subtract(output, labels, out=out)
            return
        is_clipped = self._clip > 0 and self._clips_slope
        if self._weights is not None or masked is not None or is_clipped:
            labels = labels.copy()
            self._weigh(labels)
        if masked is not None:
            drop(labels, masked)
        if is_clipped:
            labels *= (output > self._clip) & (output < 1 - self._clip)
        softmax_gradient(labels, output, out=out)

    def _limits(
        self, output: FloatArray, activation: ActivationFunction
    ) -> tuple[float, float]:
        """Return between which numbers outputs are for the logarithm."""
        if activation.name == "softmax" and self._clip > 0:
            return self._clip, 1 - self._clip
        limits = array_namespace(output).finfo(output.dtype)
        return float(limits.tiny), float("inf")


class DivergenceLoss(CrossEntropyLoss):
    """``labels * log(labels / output)``: the cross entropy less that of the labels."""

    def _score_rows(
        self,
        labels: FloatArray,
        preout: FloatArray,
        output: FloatArray,
        activation: ActivationFunction,
        factor: FloatArray | None,
    ) -> FloatArray:
        xp = array_namespace(output)
        own = labels * xp.log(above_zero(labels))
        if factor is not None:
            drop(own, factor)
        rows = super()._score_rows(labels, preout, output, activation, factor)
        rows += xp.sum(own, axis=-1)
        return rows


class SparseCrossEntropyLoss(CrossEntropyLoss):
    """:class:`CrossEntropyLoss` of labels of shape (rows, 1) that are class numbers."""

    def _score_rows(
        self,
        labels: FloatArray,
        preout: FloatArray,
        output: FloatArray,
        activation: ActivationFunction,
        factor: FloatArray | None,
    ) -> FloatArray:
        labels = one_hot(labels, output)
        return super()._score_rows(labels, preout, output, activation, factor)

    def _write_gradient(
        self,
        labels: FloatArray,
        preout: FloatArray,
        output: FloatArray,
        activation: ActivationFunction,
        factor: FloatArray | None,
        out: FloatArray,
    ) -> None:
        labels = one_hot(labels, output)
        super()._write_gradient(labels, preout, output, activation, factor, out)


def above_zero(p: FloatArray) -> Any:
    """Return `p` with 0 raised to the smallest normal number: 0 * log(0) is NaN.

    A new array like `p`, which may be of any shape.
    """
    xp = array_namespace(p)
    return xp.maximum(p, xp.finfo(p.dtype).tiny)


def log_softmax(x: FloatArray) -> Any:
    """Return the logarithm of the softmax along the last axis, finite where it is 0.

    A new array like `x`, which is of shape (rows, n_out).
    """
    xp = array_namespace(x)
    shifted = x - xp.max(x, axis=-1, keepdims=True)
    return shifted - xp.log(xp.sum(xp.exp(shifted), axis=-1, keepdims=True))


def one_hot(labels: FloatArray, output: FloatArray) -> FloatArray:
    """Return class numbers of shape (..., 1) as rows of 0 and 1 like `output`."""
    classes = array_namespace(output).arange(output.shape[-1])
    rows: FloatArray = (labels == classes).astype(output.dtype)
    return rows
