"""What output layers share whose loss sees rows: scores and gradients of the loss."""

from typing import TypeVar

from daskdl.arrays.namespace import FloatArray
from daskdl.errors import ShapeError
from daskdl.nn.activations.function import ActivationFunction
from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.layers.layer import OutputLayer
from daskdl.nn.losses.loss import LossFunction
from daskdl.nn.masks import column_mask

C = TypeVar("C", bound=LayerConf)


class RowLoss(OutputLayer[C]):
    """A layer with a loss of rows: examples, or the time steps of all of them.

    A subclass sets `_loss` and `_activation` when it is made, and in each forward pass
    what follows.

    Attributes
    ----------
    _preout, _output : ndarray of shape (rows, n_out)
        Before and behind the activation.
    _leading : tuple of int
        What the rows are: (batch,) or (batch, time).
    _features_mask : ndarray or None
        The mask that arrived with the input.
    """

    # Whether a mask that arrives with the input makes rows of the output 0.
    zeroes_masked_rows: bool = False

    _loss: LossFunction
    _activation: ActivationFunction
    _preout: FloatArray
    _output: FloatArray
    _leading: tuple[int, ...]
    _features_mask: FloatArray | None

    def arrived_mask(self) -> FloatArray | None:
        """Return the mask where labels have none.

        See :meth:`OutputLayer.arrived_mask`.
        """
        mask = self._loss_mask(None)
        return None if mask is None else mask.reshape(self._leading)

    def score_examples(
        self, labels: FloatArray, mask: FloatArray | None = None
    ) -> FloatArray:
        """Compute the losses; see :meth:`OutputLayer.score_examples`."""
        rows = self._loss.score_examples(
            self._label_rows(labels),
            self._preout,
            self._activation,
            self._loss_mask(mask),
            output=self._output,
        )
        scores: FloatArray = rows.reshape(self._leading[0], -1).sum(axis=1)
        return scores

    def score(self, labels: FloatArray, mask: FloatArray | None = None) -> float:
        """Return the summed loss; see :meth:`OutputLayer.score`."""
        return self._loss.score(
            self._label_rows(labels),
            self._preout,
            self._activation,
            self._loss_mask(mask),
            output=self._output,
        )

    def _loss_gradient(self, labels: FloatArray, mask: FloatArray | None) -> FloatArray:
        """Return the gradient of the loss in the pre-activations, a buffer."""
        return self._loss.gradient(
            self._label_rows(labels),
            self._preout,
            self._activation,
            self._loss_mask(mask),
            output=self._output,
            out=self._like("grad_preout", self._output),
        )

    def _activation_gradient(self, grad_out: FloatArray) -> FloatArray:
        """Return the gradient in the pre-activations of one in the output, a buffer."""
        grad_preout = self._activation.backward(
            grad_out.reshape(self._output.shape),
            self._preout,
            self._output,
            out=self._like("grad_preout", self._output),
        )
        if self._features_mask is not None and self.zeroes_masked_rows:
            grad_preout *= column_mask(self._features_mask, len(grad_preout), self.who)
        return grad_preout

    def _label_rows(self, labels: FloatArray) -> FloatArray:
        n_columns = self._loss.label_columns(self._output.shape[-1])
        expected = (*self._leading, n_columns)
        if labels.shape != expected:
            raise ShapeError(
                f"{self.who}: labels must have shape {expected}, got {labels.shape}."
            )
        return labels.reshape(-1, n_columns)

    def _loss_mask(self, mask: FloatArray | None) -> FloatArray | None:
        """Return the mask as the loss takes it: of rows, or of single outputs."""
        return self._features_mask if mask is None else mask
