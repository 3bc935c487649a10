"""Output layers whose loss sees rows: examples, their time steps, or pixels."""

from typing import ClassVar, TypeVar

import numpy as np

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.arrays.workspace import Workspace
from daskdl.errors import ShapeError
from daskdl.nn.activations.table import activation_function
from daskdl.nn.conf.activations import AnyActivation
from daskdl.nn.conf.input_type import InputType
from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.conf.losses import AnyLoss
from daskdl.nn.layers.definition import DefinedLayer
from daskdl.nn.layers.layer import OutputLayer, works_for
from daskdl.nn.losses.table import loss_function
from daskdl.nn.masks import column_mask
from daskdl.nn.run import Backward, Run


class RowLossConf(LayerConf):
    """An activation of rows, and a loss behind it; see its kinds for the options."""

    # Whether :meth:`preout` gives an array of its own, that may be overwritten.
    owns_preout: ClassVar[bool] = False
    # Whether some dialects divide the score by the number of examples whatever
    # `mini_batch` says.
    has_mean_score: ClassVar[bool] = False

    loss: AnyLoss = "mcxent"

    @property
    def is_output(self) -> bool:
        """True: the layer computes a loss."""
        return True

    @property
    def zeroes_masked_rows(self) -> bool:
        """Whether a mask that arrives with the input makes rows of the output 0."""
        return True

    @property
    def masks_output(self) -> bool:
        """Whether a mask of the labels sets what it drops of the output to 0."""
        return True

    @property
    def reads_features_mask(self) -> bool:
        """Whether the mask that arrives counts in the loss where labels have none."""
        return True

    def preout(self, run: Run, x: FloatArray) -> tuple[FloatArray, Backward]:
        """Return what the activation sees.

        Parameters
        ----------
        run : Run
        x : ndarray of shape (batch, ...)
            Not changed.

        Returns
        -------
        preout : ndarray of shape (rows, n_out)
        backward : callable
            Takes its gradient, and returns that in `x`.
        """
        raise TypeError(f"{type(self).__name__} does not say what its loss sees.")

    def loss_mask(
        self, run: Run, mask: FloatArray, shape: tuple[int, ...]
    ) -> FloatArray:
        """Return a mask as the loss takes it: of rows, or of single outputs.

        Parameters
        ----------
        run : Run
        mask : ndarray of shape (batch,), (batch, time) or more
            Of the labels, or that which arrived.
        shape : tuple of int
            Of the output: (batch, ..., n_out).

        Returns
        -------
        ndarray of shape (rows,), (rows, 1) or (rows, n_out)
        """
        return mask


R = TypeVar("R", bound=RowLossConf)


@works_for(RowLossConf)
class RowLossLayer(DefinedLayer[R], OutputLayer[R]):
    """``activation(preout)`` with a loss.

    Without a mask of the labels, one that arrives with the input counts.
    """

    def __init__(
        self, conf: R, input_type: InputType, name: str, workspace: Workspace
    ) -> None:
        super().__init__(conf, input_type, name, workspace)
        activation: AnyActivation | None = getattr(conf, "activation", None)
        self._activation = activation_function(activation, conf.quirks)
        self._loss = loss_function(conf.loss, conf.quirks)
        self._keeps_preout = (
            not conf.owns_preout
            or self._activation.reads_preout
            or self._loss.reads_preout(self._activation)
        )
        self.masks_output = conf.masks_output
        self.has_mean_score = conf.has_mean_score

    def forward(
        self,
        x: FloatArray,
        *,
        training: bool,
        mask: FloatArray | None = None,
        rng: np.random.Generator | None = None,
    ) -> FloatArray:
        """Compute the output, (batch, ..., n_out); see :meth:`Layer.forward`."""
        self._check_input(x)
        self._x, self._features_mask = x, mask
        self._preout, self._backward = self.conf.preout(self.run, x)
        out = self._preout
        if self._keeps_preout:
            out = self._like("output", self._preout)
        self._output = self._activation.forward(
            self._preout, out=out, rng=rng if training else None
        )
        leading = x.shape[: len(self.output_type.shape)]
        self._shape = (*leading, self._output.shape[-1])
        return self._seen(mask).reshape(self._shape)

    def backward(self, grad_out: FloatArray) -> FloatArray | None:
        """Compute the gradients of the output, not of the loss.

        See :meth:`Layer.backward`.
        """
        grad_preout = self._activation.backward(
            grad_out.reshape(self._output.shape),
            self._preout,
            self._output,
            out=self._like("grad_preout", self._output),
        )
        if self._features_mask is not None and self.conf.zeroes_masked_rows:
            grad_preout *= column_mask(self._features_mask, len(grad_preout), self.who)
        return super().backward(grad_preout)

    def backward_loss(
        self, labels: FloatArray, mask: FloatArray | None = None
    ) -> FloatArray | None:
        """Compute the gradients; see :meth:`OutputLayer.backward_loss`."""
        grad_preout = self._loss.gradient(
            self._label_rows(labels),
            self._preout,
            self._activation,
            self._loss_mask(mask),
            output=self._output,
            out=self._like("grad_preout", self._output),
        )
        return super().backward(grad_preout)

    def arrived_mask(self) -> FloatArray | None:
        """Return the mask where labels have none.

        See :meth:`OutputLayer.arrived_mask`.
        """
        mask = self._loss_mask(None)
        return None if mask is None else mask.reshape(self._shape[:-1])

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
        scores: FloatArray = rows.reshape(self._shape[0], -1).sum(axis=1)
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

    def _seen(self, mask: FloatArray | None) -> FloatArray:
        """Return what callers see of the output; the loss sees it without a mask."""
        if mask is None or not self.conf.zeroes_masked_rows:
            return self._output
        column = column_mask(mask, len(self._output), self.who)
        seen: FloatArray = array_namespace(column).multiply(
            self._output, column, out=self._like("seen", self._output)
        )
        return seen

    def _label_rows(self, labels: FloatArray) -> FloatArray:
        n_columns = self._loss.label_columns(self._output.shape[-1])
        expected = (*self._shape[:-1], n_columns)
        if labels.shape != expected:
            raise ShapeError(
                f"{self.who}: labels must have shape {expected}, got {labels.shape}."
            )
        return labels.reshape(-1, n_columns)

    def _loss_mask(self, mask: FloatArray | None) -> FloatArray | None:
        """Return the mask of the labels, or else that which arrived, for the loss."""
        if mask is None and self.conf.reads_features_mask:
            mask = self._features_mask
        return (
            None if mask is None else self.conf.loss_mask(self.run, mask, self._shape)
        )
