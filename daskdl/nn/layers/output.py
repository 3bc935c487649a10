"""The output layer for rows, and what it shares with the one for time series."""

from typing import TypeVar

import numpy as np

from daskdl.arrays.namespace import FloatArray
from daskdl.arrays.workspace import Workspace
from daskdl.errors import ShapeError
from daskdl.nn.conf.input_type import InputType
from daskdl.nn.conf.layers import Output, RnnOutput
from daskdl.nn.layers.affine import AffineLayer
from daskdl.nn.layers.layer import OutputLayer
from daskdl.nn.losses import loss_function

L = TypeVar("L", bound=Output | RnnOutput)


class AffineOutputLayer(AffineLayer[L], OutputLayer[L]):
    """``activation(x @ W + b)`` with a loss; the loss sees rows."""

    def __init__(
        self, conf: L, input_type: InputType, name: str, workspace: Workspace
    ) -> None:
        super().__init__(conf, input_type, name, workspace)
        self._loss = loss_function(conf.loss)

    def forward(
        self,
        x: FloatArray,
        *,
        training: bool,
        mask: FloatArray | None = None,
        rng: np.random.Generator | None = None,
    ) -> FloatArray:
        """Compute the output; see :meth:`Layer.forward`. Masks change the loss only."""
        self._preout = self._affine_forward(x, training=training, rng=rng)
        self._output = self._activated(self._preout)
        self._features_mask = mask
        n_axes = len(self.output_type.shape)
        return self._output.reshape(*self._x_shape[:n_axes], self.conf.n_out)

    def backward(self, grad_out: FloatArray) -> FloatArray | None:
        """Compute the gradients of the output, the loss left out."""
        grad_preout = self._like("grad_preout", self._output)
        self._activation.backward(
            grad_out.reshape(self._output.shape),
            self._preout,
            self._output,
            out=grad_preout,
        )
        return self._affine_backward(grad_preout)

    def score_examples(
        self, labels: FloatArray, mask: FloatArray | None = None
    ) -> FloatArray:
        """Compute the loss of each example; see :class:`OutputLayer`."""
        rows = self._loss.score_examples(
            self._label_rows(labels),
            self._preout,
            self._activation,
            self._loss_mask(mask),
            output=self._output,
        )
        n_axes = len(self.output_type.shape)
        if n_axes == 1:
            return rows
        scores: FloatArray = rows.reshape(self._x_shape[:n_axes]).sum(axis=1)
        return scores

    def backward_loss(
        self, labels: FloatArray, mask: FloatArray | None = None
    ) -> FloatArray | None:
        """Compute the gradients of the loss; see :class:`OutputLayer`."""
        grad_preout = self._loss.gradient(
            self._label_rows(labels),
            self._preout,
            self._activation,
            self._loss_mask(mask),
            output=self._output,
            out=self._like("grad_preout", self._output),
        )
        return self._affine_backward(grad_preout)

    def _label_rows(self, labels: FloatArray) -> FloatArray:
        n_axes = len(self.output_type.shape)
        expected = (*self._x_shape[:n_axes], self.conf.n_out)
        if labels.shape != expected:
            raise ShapeError(
                f"{self.who}: labels must have shape {expected}, got {labels.shape}."
            )
        return labels.reshape(-1, self.conf.n_out)

    def _loss_mask(self, mask: FloatArray | None) -> FloatArray | None:
        """Return the mask as the loss takes it: of rows, or of single outputs."""
        return self._features_mask if mask is None else mask


class RowOutputLayer(AffineOutputLayer[Output]):
    """The output layer of a network on rows or images.

    Without a mask of the labels, one that arrives with the input counts, as in DL4J.
    """
