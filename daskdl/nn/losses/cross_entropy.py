"""The cross entropies: of classes, of class numbers, of independent probabilities."""

from typing import Any

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.errors import OptionError
from daskdl.kernels.cross_entropy import cross_entropy_rows
from daskdl.nn.activations.function import ActivationFunction
from daskdl.nn.conf.losses import (
    BinaryCrossEntropy,
    CrossEntropy,
    NegativeLogLikelihood,
    SparseCrossEntropy,
)
from daskdl.nn.losses.loss import LossFunction, drop, masks_outputs


class CrossEntropyLoss(LossFunction):
    """``-labels * log(output)``, whose gradient in a softmax is the difference.

    Parameters
    ----------
    conf : CrossEntropy, NegativeLogLikelihood or SparseCrossEntropy
        Its name and its options.
    """

    def __init__(
        self, conf: CrossEntropy | NegativeLogLikelihood | SparseCrossEntropy
    ) -> None:
        super().__init__(conf)
        self._clip = conf.softmax_clip_eps

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
        if activation.name == "softmax":
            self._refuse_masked_outputs(factor)
            self._write_difference(labels, output, out)
            return
        grad_output = -labels / above_zero(output)
        if factor is not None and masks_outputs(factor, preout):
            # DL4J masks twice: see ElementWiseLoss.
            drop(grad_output, factor)
        activation.backward(grad_output, preout, output, out=out)
        self._weigh(out)

    def _write_difference(
        self, labels: FloatArray, output: FloatArray, out: FloatArray
    ) -> None:
        xp = array_namespace(output)
        if self._weights is None:
            xp.subtract(output, labels, out=out)
            return
        weighted = labels.copy()
        self._weigh(weighted)
        xp.multiply(output, xp.sum(weighted, axis=-1, keepdims=True), out=out)
        out -= weighted

    def _limits(
        self, output: FloatArray, activation: ActivationFunction
    ) -> tuple[float, float]:
        """Return between which numbers outputs are for the logarithm."""
        # DL4J clips in the score only, and only a softmax.
        if activation.name == "softmax" and self._clip > 0:
            return self._clip, 1 - self._clip
        limits = array_namespace(output).finfo(output.dtype)
        return float(limits.tiny), float("inf")

    def _refuse_masked_outputs(self, factor: FloatArray | None) -> None:
        # A masked output of a softmax still takes its share of the sum.
        if factor is not None and factor.shape[1] > 1:
            raise OptionError(
                f"Loss {self.name!r}: a mask of single outputs needs an activation "
                f"other than softmax, got shape {factor.shape}. Mask whole examples, "
                "or use sigmoid with xent."
            )


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


class BinaryCrossEntropyLoss(LossFunction):
    """``-labels * log(output) - (1 - labels) * log(1 - output)`` of each output.

    Parameters
    ----------
    conf : BinaryCrossEntropy
        Its options.
    """

    def __init__(self, conf: BinaryCrossEntropy) -> None:
        super().__init__(conf)
        self._clip = conf.clip_eps

    def _score_rows(
        self,
        labels: FloatArray,
        preout: FloatArray,
        output: FloatArray,
        activation: ActivationFunction,
        factor: FloatArray | None,
    ) -> FloatArray:
        xp = array_namespace(output)
        if activation.name == "softmax":
            # DL4J leaves out the second term, and the clip, with a softmax.
            scores = labels * log_softmax(preout)
        else:
            clipped = self._clipped(output)
            scores = labels * xp.log(clipped) + (1 - labels) * xp.log1p(-clipped)
        self._weigh(scores)
        if factor is not None:
            drop(scores, factor)
        rows: FloatArray = -xp.sum(scores, axis=-1)
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
        # DL4J's gradient keeps both terms with a softmax too, and goes back through
        # the activation where it was, not where it was clipped to.
        clipped = self._clipped(output)
        grad_output = (clipped - labels) / (clipped * (1 - clipped))
        if factor is not None and masks_outputs(factor, preout):
            # DL4J masks twice: see ElementWiseLoss.
            drop(grad_output, factor)
        activation.backward(grad_output, preout, output, out=out)
        self._weigh(out)

    def _clipped(self, output: FloatArray) -> Any:
        xp = array_namespace(output)
        limits = xp.finfo(output.dtype)
        # With a clip of 0 as near to 0 and 1 as numbers go: DL4J gets NaN there.
        low, high = self._clip or limits.tiny, 1 - (self._clip or limits.epsneg)
        return xp.clip(output, low, high)


def above_zero(p: FloatArray) -> Any:
    """Return `p` with 0 raised to the smallest normal number: 0 * log(0) is NaN."""
    xp = array_namespace(p)
    return xp.maximum(p, xp.finfo(p.dtype).tiny)


def log_softmax(x: FloatArray) -> Any:
    """Return the logarithm of the softmax along the last axis, finite where it is 0."""
    xp = array_namespace(x)
    shifted = x - xp.max(x, axis=-1, keepdims=True)
    return shifted - xp.log(xp.sum(xp.exp(shifted), axis=-1, keepdims=True))


def one_hot(labels: FloatArray, output: FloatArray) -> FloatArray:
    """Return class numbers of shape (..., 1) as rows of 0 and 1 like `output`."""
    classes = array_namespace(output).arange(output.shape[-1])
    rows: FloatArray = (labels == classes).astype(output.dtype)
    return rows
