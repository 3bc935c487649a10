"""The loss of pairs: each label that is set against each that is not."""

from typing import Any

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.errors import OptionError
from daskdl.nn.activations.function import ActivationFunction
from daskdl.nn.losses.loss import LossFunction, drop


class MultiLabelLoss(LossFunction):
    """The mean of ``exp(output of a negative - output of a positive)`` over the pairs.

    A row without positives or without negatives has no pairs: its loss is 0.

    Notes
    -----
    The exponential of a sum is a product, so no pair is ever formed: time and memory
    grow with the number of outputs, not with its square.

    References
    ----------
    Zhang and Zhou, *Multilabel Neural Networks with Applications to Functional Genomics
    and Text Categorization*, 2006, equation 4, in the variant of DL4J's
    `LossMultiLabel`, where a positive weighs what its label says.
    """

    def _score_rows(
        self,
        labels: FloatArray,
        preout: FloatArray,
        output: FloatArray,
        activation: ActivationFunction,
        factor: FloatArray | None,
    ) -> FloatArray:
        if factor is not None and factor.shape[1] > 1:
            raise OptionError(
                f"Loss {self.name!r}: the mask must be of whole examples, got one of "
                f"single outputs, shape {factor.shape}. A pair has two outputs."
            )
        xp = array_namespace(output)
        positives, negatives = _sides(labels, output)
        rows: FloatArray = xp.sum(positives, axis=-1) * xp.sum(negatives, axis=-1)
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
        positives, negatives = _sides(labels, output)
        grad_output = negatives * xp.sum(positives, axis=-1, keepdims=True)
        grad_output -= positives * xp.sum(negatives, axis=-1, keepdims=True)
        activation.backward(grad_output, preout, output, out=out)


def _sides(labels: FloatArray, output: FloatArray) -> tuple[Any, Any]:
    """Return the factors of the pairs: of the positives, and of the negatives."""
    xp = array_namespace(output)
    is_negative = labels == 0
    n_negatives = xp.sum(is_negative, axis=-1, keepdims=True, dtype=output.dtype)
    n_positives = xp.sum(labels, axis=-1, keepdims=True)
    has_pairs = (n_negatives > 0) & (n_negatives < labels.shape[1])
    # Measured from the middle, both factors stay far from overflow.
    highest = xp.max(output, axis=-1, keepdims=True)
    middle = (highest + xp.min(output, axis=-1, keepdims=True)) / 2
    positives = labels * xp.exp(middle - output)
    negatives = is_negative * xp.exp(output - middle)
    n_pairs = xp.where(has_pairs, n_positives * n_negatives, 1)
    return has_pairs * positives / n_pairs, negatives
