"""The F measure of a whole minibatch as a loss."""

from typing import ClassVar

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.dialects import Quirks
from daskdl.errors import OptionError
from daskdl.nn.activations.function import ActivationFunction
from daskdl.nn.conf.losses import FMeasure
from daskdl.nn.losses.loss import LossFunction, drop


class FMeasureLoss(LossFunction):
    """1 minus the F measure of the probabilities, over all rows together.

    One column is the probability of the positive class; of two, it is the second.

    Parameters
    ----------
    conf : FMeasure
        Its options.

    References
    ----------
    Pastor-Pellicer et al., *F-Measure as the Error Function to Train Neural Networks*,
    2013, equations 9 to 11.
    """

    masks_single_outputs: ClassVar[bool] = False

    def __init__(self, conf: FMeasure, quirks: Quirks) -> None:
        super().__init__(conf, quirks)
        self._has_one_slope = "fmeasure_has_one_slope" in quirks
        self._beta_squared = conf.beta**2

    def score(
        self,
        labels: FloatArray,
        preout: FloatArray,
        activation: ActivationFunction,
        mask: FloatArray | None = None,
        *,
        output: FloatArray | None = None,
    ) -> float:
        """Compute the loss of all rows; see :meth:`LossFunction.score`."""
        self._check(labels, preout)
        factor = self._factor(mask, preout)
        output = activation.forward(preout) if output is None else output
        numerator, denominator = self._fraction(labels, output, factor)
        if denominator == 0:
            return 0.0
        return 1 - numerator / denominator

    def _score_rows(
        self,
        labels: FloatArray,
        preout: FloatArray,
        output: FloatArray,
        activation: ActivationFunction,
        factor: FloatArray | None,
    ) -> FloatArray:
        raise OptionError(
            f"Loss {self.name!r}: scores must be asked for whole minibatches, got a "
            "request for those of single examples, which have no F measure."
        )

    def _write_gradient(
        self,
        labels: FloatArray,
        preout: FloatArray,
        output: FloatArray,
        activation: ActivationFunction,
        factor: FloatArray | None,
        out: FloatArray,
    ) -> None:
        numerator, denominator = self._fraction(labels, output, factor)
        if denominator == 0:
            out.fill(0)
            return
        positive, has_two = labels[:, -1], labels.shape[1] == 2
        falls = numerator / denominator**2
        rises = (1 + self._beta_squared) / denominator
        grad_output = array_namespace(output).empty_like(output)
        if has_two and not self._has_one_slope:
            counted = (1 + self._beta_squared) * positive + labels[:, 0]
            grad_output[:, 0] = falls * self._beta_squared * positive
            grad_output[:, 1] = falls * counted - rises * positive
        else:
            # As if the columns added up to 1; a single one does, with the rest.
            grad_output.fill(0)
            grad_output[:, -1] = falls - rises * positive
        activation.backward(grad_output, preout, output, out=out)

    def _fraction(
        self, labels: FloatArray, output: FloatArray, factor: FloatArray | None
    ) -> tuple[float, float]:
        """Return numerator and denominator of the F measure."""
        has_two = labels.shape[1] == 2
        positive = labels[:, -1]
        negative = labels[:, 0] if has_two else 1 - positive
        if factor is not None:
            positive, negative = positive.copy(), negative.copy()
            drop(positive, factor[:, 0])
            drop(negative, factor[:, 0])
        found = output[:, -1]
        left = output[:, 0] if has_two else 1 - found
        hits = (1 + self._beta_squared) * float((positive * found).sum())
        misses = self._beta_squared * float((positive * left).sum())
        return hits, hits + misses + float((negative * found).sum())
