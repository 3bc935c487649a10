"""The loss of pairs: each label that is set against each that is not."""

from typing import Any

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.dialects import Quirks
from daskdl.errors import OptionError
from daskdl.nn.activations.function import ActivationFunction
from daskdl.nn.conf.losses import AnyLoss
from daskdl.nn.losses.loss import LossFunction, drop


class MultiLabelLoss(LossFunction):
    """The mean of ``exp(output of a negative - output of a positive)`` over the pairs.

    A row without positives or without negatives has no pairs: its loss is 0. A mask of
    single outputs weighs the pairs of each; those of a 0 are left out.

    Notes
    -----
    The exponential of a sum is a product, so no pair is ever formed: time and memory
    grow with the number of outputs, not with its square.

    References
    ----------
    Zhang and Zhou, *Multilabel Neural Networks with Applications to Functional Genomics
    and Text Categorization*, 2006, equation 4; a positive weighs what its label says.
    """

    def __init__(self, conf: AnyLoss, quirks: Quirks) -> None:
        super().__init__(conf, quirks)
        self._keeps_pairs = "multilabel_keeps_pairs_of_masked_outputs" in quirks

    def _score_rows(
        self,
        labels: FloatArray,
        preout: FloatArray,
        output: FloatArray,
        activation: ActivationFunction,
        factor: FloatArray | None,
    ) -> FloatArray:
        xp = array_namespace(output)
        is_of_outputs = factor is not None and factor.shape[1] > 1
        if is_of_outputs and self._keeps_pairs:
            raise OptionError(
                f"Loss {self.name!r}: the mask must be of whole examples, got one of "
                f"single outputs, shape {output.shape}. A pair has two outputs."
            )
        counts = factor if is_of_outputs else None
        positives, negatives = _sides(labels, output, counts)
        rows: FloatArray = xp.sum(positives, axis=-1) * xp.sum(negatives, axis=-1)
        if factor is not None and not is_of_outputs:
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
        is_of_outputs = self._masks_outputs(factor, preout)
        counts = factor if is_of_outputs and not self._keeps_pairs else None
        positives, negatives = _sides(labels, output, counts)
        grad_output = negatives * xp.sum(positives, axis=-1, keepdims=True)
        grad_output -= positives * xp.sum(negatives, axis=-1, keepdims=True)
        activation.backward(grad_output, preout, output, out=out)


def _sides(
    labels: FloatArray, output: FloatArray, counts: FloatArray | None
) -> tuple[Any, Any]:
    """Return the factors of the pairs: of the positives, and of the negatives.

    Parameters
    ----------
    labels, output : ndarray of shape (rows, n_out)
    counts : ndarray of shape (rows, n_out) or None
        How much each output counts.
    """
    xp = array_namespace(output)
    is_negative = (labels == 0).astype(output.dtype)
    if counts is not None:
        labels = labels.copy()
        drop(labels, counts)
        is_negative *= counts
    n_negatives = xp.sum(is_negative, axis=-1, keepdims=True)
    n_positives = xp.sum(labels, axis=-1, keepdims=True)
    has_pairs = (n_negatives > 0) & xp.any(labels != 0, axis=-1, keepdims=True)
    # Measured from the middle, both factors stay far from overflow.
    highest = xp.max(output, axis=-1, keepdims=True)
    middle = (highest + xp.min(output, axis=-1, keepdims=True)) / 2
    positives = labels * xp.exp(middle - output)
    negatives = is_negative * xp.exp(output - middle)
    n_pairs = xp.where(has_pairs, n_positives * n_negatives, 1)
    return has_pairs * positives / n_pairs, negatives
