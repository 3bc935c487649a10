"""The cross entropy of outputs that are each a probability of their own."""

from typing import Any

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.dialects import Quirks
from daskdl.nn.activations.function import ActivationFunction
from daskdl.nn.conf.losses import BinaryCrossEntropy
from daskdl.nn.losses.cross_entropy import log_softmax
from daskdl.nn.losses.loss import LossFunction, drop

_USUAL_CLIP = 1e-5


class BinaryCrossEntropyLoss(LossFunction):
    """``-labels * log(output) - (1 - labels) * log(1 - output)`` of each output.

    Behind a sigmoid that is not clipped it comes from the pre-activations, so that
    outputs that are certain and wrong have their score, and their gradient.

    Parameters
    ----------
    conf : BinaryCrossEntropy
        Its options.
    quirks : frozenset of str
        As for :class:`~daskdl.nn.losses.loss.LossFunction`.
    """

    def __init__(self, conf: BinaryCrossEntropy, quirks: Quirks) -> None:
        super().__init__(conf, quirks)
        self._clips_slope = "xent_keeps_the_slope_where_it_clips" not in quirks
        self._scores_one_term = "xent_scores_one_term_of_softmax" in quirks
        self._weighs_behind = "xent_weighs_behind_softmax" in quirks
        usual = 0.0 if self._clips_slope else _USUAL_CLIP
        self._clip = usual if conf.clip_eps is None else conf.clip_eps

    def reads_preout(self, activation: ActivationFunction) -> bool:
        """Return whether scores are computed from pre-activations."""
        is_one_term = activation.name == "softmax" and self._scores_one_term
        return is_one_term or self._is_plain(activation)

    def _score_rows(
        self,
        labels: FloatArray,
        preout: FloatArray,
        output: FloatArray,
        activation: ActivationFunction,
        factor: FloatArray | None,
    ) -> FloatArray:
        xp = array_namespace(output)
        if self._is_plain(activation):
            scores = labels * preout - xp.maximum(preout, 0)
            scores -= xp.log1p(xp.exp(-xp.abs(preout)))
        elif self.reads_preout(activation):
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
        xp = array_namespace(output)
        masked = factor if self._masks_outputs(factor, preout) else None
        if self._is_plain(activation):
            xp.subtract(output, labels, out=out)
            self._weigh(out)
            if masked is not None:
                drop(out, masked)
            return
        clipped = self._clipped(output)
        grad_output = (clipped - labels) / (clipped * (1 - clipped))
        if self._clips_slope:
            grad_output *= clipped == output
        if not self._weighs_behind:
            self._weigh(grad_output)
        if masked is not None:
            drop(grad_output, masked)
        activation.backward(grad_output, preout, output, out=out)
        if self._weighs_behind:
            self._weigh(out)

    def _is_plain(self, activation: ActivationFunction) -> bool:
        """Return whether nothing stands between the loss and the pre-activations."""
        return activation.name == "sigmoid" and not self._clip

    def _clipped(self, output: FloatArray) -> Any:
        xp = array_namespace(output)
        limits = xp.finfo(output.dtype)
        # With a clip of 0 as near to 0 and 1 as numbers go.
        low, high = self._clip or limits.tiny, 1 - (self._clip or limits.epsneg)
        return xp.clip(output, low, high)
