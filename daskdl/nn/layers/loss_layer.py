"""The output layer without weights: an activation and a loss."""

from typing import Literal

import numpy as np

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.arrays.workspace import Workspace
from daskdl.nn.activations.table import activation_function
from daskdl.nn.conf.activations import AnyActivation, draws_random_numbers
from daskdl.nn.conf.input_type import FeedForward, InputType
from daskdl.nn.conf.layer import LayerConf, refuse_input
from daskdl.nn.conf.losses import AnyLoss, label_columns
from daskdl.nn.layers.row_loss import RowLoss
from daskdl.nn.losses.table import loss_function
from daskdl.nn.masks import column_mask


class LossLayer(LayerConf):
    """The last layer of a network on rows, without weights: activation and loss.

    Parameters
    ----------
    loss : loss
        By name or with options.
    activation : activation, optional
        None means what belongs to the loss, as for
        :class:`~daskdl.nn.layers.output.Output`.
    """

    type: Literal["loss"] = "loss"
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

    def output_type(self, input_type: InputType) -> FeedForward:
        """Return what came in; refuse all but rows."""
        if not isinstance(input_type, FeedForward):
            hint = "Use RnnLoss for time series and CnnLoss for images."
            raise refuse_input(self, "rows", input_type, hint)
        if input_type.size is not None:
            label_columns(self.loss, input_type.size)
        return input_type


class LossOnlyLayer(RowLoss[LossLayer]):
    """``activation(x)`` with a loss.

    Without a mask of the labels, one that arrives with the input counts. Where one
    arrives, masked rows come out as 0, as in DL4J.
    """

    zeroes_masked_rows = True

    def __init__(
        self, conf: LossLayer, input_type: InputType, name: str, workspace: Workspace
    ) -> None:
        super().__init__(conf, input_type, name, workspace)
        activation: AnyActivation = self._given("activation", conf.activation)
        self._activation = activation_function(activation)
        self._loss = loss_function(conf.loss)

    def forward(
        self,
        x: FloatArray,
        *,
        training: bool,
        mask: FloatArray | None = None,
        rng: np.random.Generator | None = None,
    ) -> FloatArray:
        """Compute the output; see :meth:`Layer.forward`."""
        self._check_input(x)
        self._preout, self._leading, self._features_mask = x, x.shape[:1], mask
        self._output = self._activation.forward(
            x, out=self._like("output", x), rng=rng if training else None
        )
        if mask is None:
            return self._output
        xp = array_namespace(x)
        column = column_mask(mask, len(x), self.who)
        masked: FloatArray = xp.multiply(
            self._output, column, out=self._like("masked", x)
        )
        return masked

    def backward(self, grad_out: FloatArray) -> FloatArray:
        """Compute the gradient of the output, the loss left out."""
        return self._activation_gradient(grad_out)

    def backward_loss(
        self, labels: FloatArray, mask: FloatArray | None = None
    ) -> FloatArray:
        """Compute the gradient of the loss; see :class:`OutputLayer`."""
        return self._loss_gradient(labels, mask)
