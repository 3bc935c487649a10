"""The output layer that also draws examples to the center of their class."""

from dataclasses import replace
from typing import ClassVar, Literal

from pydantic import ConfigDict, Field

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.input_type import FeedForward, InputType, Recurrent
from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.conf.losses import label_columns, loss_name
from daskdl.nn.conf.options import TrainingOptions, WeightOptions
from daskdl.nn.conf.parameters import Parameter
from daskdl.nn.conf.values import NonNegative
from daskdl.nn.layers.affine import as_rows, from_rows
from daskdl.nn.layers.input_kinds import refuse_input
from daskdl.nn.layers.output import OutputConf
from daskdl.nn.layers.row_loss import RowLoss, RowLossConf


class CenterLoss(RowLoss):
    """``loss + lambda / 2 * |x - labels @ cL|^2``, labels one-hot.

    The centers move by ``alpha * sum(center - x) / (1 + count)`` over the examples of
    their class; no updater changes that. An example that a mask drops has no distance,
    and moves no center; if single outputs are masked, that of its class counts.

    References
    ----------
    Wen et al., *A Discriminative Feature Learning Approach for Deep Face Recognition*,
    2016, equations 2 to 4.
    """

    conf: "CenterLossOutput"

    def score_examples(
        self, labels: FloatArray, mask: FloatArray | None = None
    ) -> FloatArray:
        """Compute the losses; see :meth:`LossPass.score_examples`."""
        scores = super().score_examples(labels, mask)
        return scores + self._distances(labels, mask)

    def score(self, labels: FloatArray, mask: FloatArray | None = None) -> float:
        """Return the summed loss; see :meth:`LossPass.score`."""
        distances = self._distances(labels, mask)
        return super().score(labels, mask) + float(distances.sum())

    def backward(
        self, labels: FloatArray, mask: FloatArray | None = None
    ) -> FloatArray | None:
        """Compute the gradients; see :meth:`LossPass.backward`."""
        xp = array_namespace(labels)
        away = self._away_from_centers(labels)
        share = self._share(labels, mask)
        counted = labels
        if share is not None:
            away *= share
            counted = labels * share
        grad_centers = self.run.gradients["cL"]
        xp.matmul(labels.T, away, out=grad_centers)
        grad_centers *= -self._center_rate
        if self.conf.gradient_check:
            grad_centers *= self.conf.lambda_
        else:
            grad_centers /= 1 + xp.sum(counted, axis=0)[:, None]
        grad_x = super().backward(labels, mask)
        if grad_x is not None:
            away *= self.conf.lambda_
            grad_x += from_rows(self.run, "grad_away", away, grad_x.shape)
        return grad_x

    def output_backward(self, grad_out: FloatArray) -> FloatArray | None:
        """Compute the gradients of the output (batch, n_out), not of the loss."""
        self.run.gradients["cL"].fill(0)
        return super().output_backward(grad_out)

    @property
    def _center_rate(self) -> float:
        """The share of its way that a center goes; the whole gradient in a check."""
        is_gradient = "alpha_stays_in_gradient_checks" not in self.conf.quirks
        return 1.0 if self.conf.gradient_check and is_gradient else self.conf.alpha

    def _share(self, labels: FloatArray, mask: FloatArray | None) -> FloatArray | None:
        """Return how much each example counts, (batch, 1); None if all do alike."""
        mask = self.mask(mask)
        if mask is None or "distances_ignore_masks" in self.conf.quirks:
            return None
        if mask.size == len(labels):
            return mask.reshape(-1, 1)
        share: FloatArray = (labels * mask).sum(axis=1, keepdims=True)
        return share

    def _away_from_centers(self, labels: FloatArray) -> FloatArray:
        """Return ``x - labels @ cL``, a buffer."""
        rows = as_rows(self.run, self.x)
        away = self.run.like("away", rows)
        xp = array_namespace(labels)
        xp.matmul(self.label_rows(labels), self.run.params["cL"], out=away)
        xp.subtract(rows, away, out=away)
        return away

    def _distances(self, labels: FloatArray, mask: FloatArray | None) -> FloatArray:
        away = self._away_from_centers(labels)
        away *= away
        sums: FloatArray = array_namespace(labels).sum(away, axis=1)
        share = self._share(labels, mask)
        if share is not None:
            sums *= share[:, 0]
        return self.conf.lambda_ / 2 * sums


class CenterLossOutput(
    OutputConf, RowLossConf, WeightOptions, TrainingOptions, LayerConf
):
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

    has_mean_score: ClassVar[bool] = True
    kept: ClassVar[type[RowLoss]] = CenterLoss

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
        learned = super().parameters(input_type)
        if "center_loss_updates_biases_as_weights" in self.quirks:
            weight, *bias = learned
            learned = (weight, *(replace(b, role="bias of weights") for b in bias))
        is_mean = self.gradient_check or "centers_move_by_means" in self.quirks
        return (
            *learned,
            Parameter("cL", centers, "direct" if is_mean else "moved", order="c"),
        )
