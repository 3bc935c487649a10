"""What the losses share that have no weights: an activation and a loss behind it."""

from typing import TypeVar

import numpy as np

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.arrays.workspace import Workspace
from daskdl.nn.activations.table import activation_function
from daskdl.nn.conf.activations import AnyActivation, draws_random_numbers
from daskdl.nn.conf.input_type import InputType
from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.conf.losses import AnyLoss, label_columns
from daskdl.nn.layers.row_loss import RowLoss
from daskdl.nn.losses.table import loss_function
from daskdl.nn.masks import column_mask


class BareLossConf(LayerConf):
    """A loss without weights; see its kinds for the options."""

    loss: AnyLoss = "mcxent"
    activation: AnyActivation | None = None

    @property
    def is_output(self) -> bool:
        """True: the layer computes a loss."""
        return True

    @property
    def draws_random_numbers(self) -> bool:
        """True if the activation does in training, or input is dropped."""
        if self.activation is not None and draws_random_numbers(self.activation):
            return True
        return super().draws_random_numbers

    def entering(self, input_type: InputType) -> InputType:
        """Return the type of the input; refuse types that the layer cannot take."""
        raise TypeError(f"{type(self).__name__} does not say what goes into it.")

    def output_type(self, input_type: InputType) -> InputType:
        """Return the type of the input; refuse those that layer or loss cannot take."""
        entered = self.entering(input_type)
        n_out = entered.shape[-1]
        if n_out is not None:
            label_columns(self.loss, n_out)
        return entered


L = TypeVar("L", bound=BareLossConf)


class BareLossLayer(RowLoss[L]):
    """``activation(x)`` with a loss that sees examples, steps or pixels as rows."""

    masks_output = False
    has_mean_score = True

    def __init__(
        self, conf: L, input_type: InputType, name: str, workspace: Workspace
    ) -> None:
        super().__init__(conf, input_type, name, workspace)
        activation: AnyActivation = self._given("activation", conf.activation)
        self._activation = activation_function(activation, conf.quirks)
        self._loss = loss_function(conf.loss, conf.quirks)

    def forward(
        self,
        x: FloatArray,
        *,
        training: bool,
        mask: FloatArray | None = None,
        rng: np.random.Generator | None = None,
    ) -> FloatArray:
        """Compute the output, an array like `x`; see :meth:`Layer.forward`."""
        self._check_input(x)
        self._leading, self._features_mask = x.shape[:-1], mask
        self._preout = x.reshape(-1, x.shape[-1])
        self._output = self._activation.forward(
            self._preout,
            out=self._like("output", self._preout),
            rng=rng if training else None,
        )
        output = self._output.reshape(x.shape)
        if mask is None or not self.zeroes_masked_rows:
            return output
        masked = self._like("masked", self._output)
        column = column_mask(mask, len(masked), self.who)
        array_namespace(x).multiply(self._output, column, out=masked)
        return masked.reshape(x.shape)

    def backward(self, grad_out: FloatArray) -> FloatArray:
        """Compute the gradient of the output, not of the loss.

        See :meth:`Layer.backward`.
        """
        return self._activation_gradient(grad_out).reshape(grad_out.shape)

    def backward_loss(
        self, labels: FloatArray, mask: FloatArray | None = None
    ) -> FloatArray:
        """Compute the gradients; see :meth:`OutputLayer.backward_loss`."""
        grad = self._loss_gradient(labels, mask)
        return grad.reshape(*self._leading, grad.shape[-1])
