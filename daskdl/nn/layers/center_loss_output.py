"""The output layer that also draws examples to the center of their class."""

from dataclasses import replace
from typing import Literal

import numpy as np
from pydantic import ConfigDict, Field

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.input_type import FeedForward, InputType, Recurrent
from daskdl.nn.conf.layer import refuse_input
from daskdl.nn.conf.losses import label_columns, loss_name
from daskdl.nn.conf.parameters import Parameter
from daskdl.nn.conf.values import NonNegative
from daskdl.nn.layers.output import AffineOutputLayer, OutputConf


class CenterLossOutput(OutputConf):
    """A dense layer whose loss has a share of ``|x - center of its class|^2``.

    Parameters
    ----------
    alpha : float
        Share of the way to its examples that a center goes in one iteration.
    lambda_ : float
        How much the distance to the centers counts; its key is ``lambda``.
    gradient_check : bool
        Whether the centers move by the gradient of the loss, as gradient checks need.
    """

    model_config = ConfigDict(populate_by_name=True)

    type: Literal["center_loss_output"] = "center_loss_output"
    alpha: NonNegative = 0.05
    lambda_: NonNegative = Field(2e-4, alias="lambda")
    gradient_check: bool = False

    def output_type(self, input_type: InputType) -> FeedForward:
        """Return rows of `n_out`; refuse time series."""
        if isinstance(input_type, Recurrent):
            raise refuse_input(self, "rows or images", input_type)
        if label_columns(self.loss, self.n_out) != self.n_out:
            raise PathError(
                f"must be a loss of one label for each of {self.n_out} classes, got "
                f"{loss_name(self.loss)}.",
                "loss",
            )
        self.inferred_n_in(input_type)
        return FeedForward(size=self.n_out)

    def parameters(self, input_type: InputType) -> tuple[Parameter, ...]:
        """Return W (n_in, n_out), b (n_out,) and the centers cL (n_out, n_in)."""
        centers = (self.n_out, self.inferred_n_in(input_type))
        weight, *bias = super().parameters(input_type)
        return (
            weight,
            *(replace(item, role="bias of weights") for item in bias),
            Parameter("cL", centers, "direct", order="c"),
        )


class CenterLossOutputLayer(AffineOutputLayer[CenterLossOutput]):
    """``loss + lambda / 2 * |x - labels @ cL|^2``, labels one-hot.

    The centers move by ``alpha * sum(center - x) / (1 + count)`` over the examples of
    their class; no updater changes that.

    A mask of the labels masks the loss, but not the distances, as in DL4J.

    References
    ----------
    Wen et al., *A Discriminative Feature Learning Approach for Deep Face Recognition*,
    2016, equations 2 to 4, as in DL4J's ``CenterLossOutputLayer``.
    """

    has_mean_score = True

    def initialize(self, rng: np.random.Generator) -> None:
        """Draw W, and set the centers to 0."""
        super().initialize(rng)
        self.params["cL"].fill(0)

    def score_examples(
        self, labels: FloatArray, mask: FloatArray | None = None
    ) -> FloatArray:
        """Compute the loss of each example; see :class:`OutputLayer`.

        DL4J fails here unless a feature vector has one number.
        """
        scores = super().score_examples(labels, mask)
        return scores + self._distances(labels)

    def score(self, labels: FloatArray, mask: FloatArray | None = None) -> float:
        """Return the loss of the minibatch; see :class:`OutputLayer`."""
        return super().score(labels, mask) + float(self._distances(labels).sum())

    def backward_loss(
        self, labels: FloatArray, mask: FloatArray | None = None
    ) -> FloatArray | None:
        """Compute the gradients of the loss; see :class:`OutputLayer`."""
        xp = array_namespace(labels)
        away = self._away_from_centers(labels)
        grad_centers = self.gradients["cL"]
        xp.matmul(labels.T, away, out=grad_centers)
        grad_centers *= -self.conf.alpha
        if self.conf.gradient_check:
            # The gradient of the loss if alpha is 1; DL4J keeps alpha as a factor.
            grad_centers *= self.conf.lambda_
        else:
            grad_centers /= 1 + xp.sum(labels, axis=0)[:, None]
        grad_rows = self._rows_backward(self._loss_gradient(labels, mask))
        if grad_rows is None:
            return None
        away *= self.conf.lambda_
        grad_rows += away
        return self._from_rows(grad_rows)

    def backward(self, grad_out: FloatArray) -> FloatArray | None:
        """Compute the gradients of the output, the loss left out."""
        self.gradients["cL"].fill(0)
        return super().backward(grad_out)

    def _away_from_centers(self, labels: FloatArray) -> FloatArray:
        """Return ``x - labels @ cL``, a buffer."""
        away = self._like("away", self._rows)
        xp = array_namespace(labels)
        xp.matmul(self._label_rows(labels), self.params["cL"], out=away)
        xp.subtract(self._rows, away, out=away)
        return away

    def _distances(self, labels: FloatArray) -> FloatArray:
        away = self._away_from_centers(labels)
        away *= away
        sums: FloatArray = array_namespace(labels).sum(away, axis=1)
        return self.conf.lambda_ / 2 * sums
