"""The output layer for time series that has no weights: activation and loss."""

from typing import Literal

import numpy as np

from daskdl.arrays.namespace import FloatArray
from daskdl.arrays.workspace import Workspace
from daskdl.nn.activations.table import activation_function
from daskdl.nn.conf.activations import AnyActivation, draws_random_numbers
from daskdl.nn.conf.input_type import InputType, Recurrent
from daskdl.nn.conf.layer import LayerConf, refuse_input
from daskdl.nn.conf.losses import AnyLoss, label_columns
from daskdl.nn.layers.rnn_output import rows_of_mask
from daskdl.nn.layers.row_loss import RowLoss
from daskdl.nn.losses.table import loss_function


class RnnLoss(LayerConf):
    """The last layer of a network on time series, without weights.

    Parameters
    ----------
    loss : loss
        By name or with options.
    activation : activation, optional
        None means what belongs to the loss, as for :class:`Output`.
    """

    type: Literal["rnn_loss"] = "rnn_loss"
    loss: AnyLoss = "mcxent"
    activation: AnyActivation | None = None

    @property
    def is_output(self) -> bool:
        """True: the layer computes a loss."""
        return True

    @property
    def draws_random_numbers(self) -> bool:
        """True if the activation does in training."""
        return self.activation is not None and draws_random_numbers(self.activation)

    def output_type(self, input_type: InputType) -> Recurrent:
        """Return what came in; refuse all but time series."""
        if not isinstance(input_type, Recurrent):
            hint = "Use LossLayer for rows."
            raise refuse_input(self, "time series", input_type, hint)
        label_columns(self.loss, input_type.size)
        return input_type


class RnnLossLayer(RowLoss[RnnLoss]):
    """``activation(x)`` of each time step, with the losses summed over time.

    Without a mask of the labels, one that arrives with the input counts, as in DL4J.
    """

    masks_output = False

    def __init__(
        self, conf: RnnLoss, input_type: InputType, name: str, workspace: Workspace
    ) -> None:
        super().__init__(conf, input_type, name, workspace)
        self._loss = loss_function(conf.loss)
        activation: AnyActivation = self._given("activation", conf.activation)
        self._activation = activation_function(activation)

    def forward(
        self,
        x: FloatArray,
        *,
        training: bool,
        mask: FloatArray | None = None,
        rng: np.random.Generator | None = None,
    ) -> FloatArray:
        """Compute the output; see :meth:`Layer.forward`. Masks change the loss only."""
        self._check_input(x)
        self._leading = x.shape[:2]
        self._features_mask = mask
        self._preout = x.reshape(-1, x.shape[2])
        self._output = self._activation.forward(
            self._preout,
            out=self._like("output", self._preout),
            rng=rng if training else None,
        )
        return self._output.reshape(x.shape)

    def backward(self, grad_out: FloatArray) -> FloatArray:
        """Compute the gradient of the output, the loss left out."""
        return self._activation_gradient(grad_out).reshape(grad_out.shape)

    def backward_loss(
        self, labels: FloatArray, mask: FloatArray | None = None
    ) -> FloatArray:
        """Compute the gradient of the loss; see :class:`OutputLayer`."""
        grad = self._loss_gradient(labels, mask)
        return grad.reshape(*self._leading, grad.shape[1])

    def _loss_mask(self, mask: FloatArray | None) -> FloatArray | None:
        mask = self._features_mask if mask is None else mask
        if mask is None:
            return None
        n_out = self._output.shape[1]
        return rows_of_mask(mask, (*self._leading, n_out), self.who)
