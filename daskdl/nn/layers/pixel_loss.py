"""What the losses at each pixel of images and at each voxel of volumes share."""

import math
from typing import ClassVar, TypeVar

import numpy as np

from daskdl.arrays.namespace import FloatArray
from daskdl.arrays.workspace import Workspace
from daskdl.errors import ShapeError
from daskdl.nn.activations.table import activation_function
from daskdl.nn.conf.activations import AnyActivation, draws_random_numbers
from daskdl.nn.conf.input_type import InputType
from daskdl.nn.conf.layer import DroppedLayerConf
from daskdl.nn.conf.losses import AnyLoss
from daskdl.nn.layers.row_loss import RowLoss
from daskdl.nn.losses.table import loss_function


class PixelLossConf(DroppedLayerConf):
    """A loss at each pixel or voxel; see its kinds for the options."""

    applies_dropout: ClassVar[bool] = False

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


L = TypeVar("L", bound=PixelLossConf)


class PixelLossLayer(RowLoss[L]):
    """``activation(x)`` with a loss that sees pixels as rows.

    Without a mask of the labels, one of examples or pixels that arrives with the input
    counts, as in DL4J. What DL4J computes with channels last, it cannot score example
    by example.
    """

    masks_output = False

    def __init__(
        self, conf: L, input_type: InputType, name: str, workspace: Workspace
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
        """Compute the output; see :meth:`Layer.forward`. Masks change the loss only."""
        self._check_input(x)
        self._leading, self._features_mask = x.shape[:-1], mask
        self._preout = x.reshape(-1, x.shape[-1])
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
        """Compute the gradient of the loss; see :class:`OutputLayer`.

        `mask` is of whole examples (batch,) or (batch, 1), of pixels (batch, *axes) or
        (batch, *axes, 1), or of single outputs like the labels.
        """
        return self._loss_gradient(labels, mask).reshape(*self._leading, -1)

    def _loss_mask(self, mask: FloatArray | None) -> FloatArray | None:
        mask = super()._loss_mask(mask)
        if mask is None:
            return None
        batch, *axes = self._leading
        if mask.shape in ((batch,), (batch, 1)):
            shape = (batch, math.prod(axes))
            rows: FloatArray = self._buffer("mask", shape, mask.dtype)
            rows[...] = mask.reshape(batch, 1)
            return rows.reshape(-1)
        if mask.shape in (self._leading, (*self._leading, 1)):
            return mask.reshape(-1)
        channels = self._output.shape[-1]
        if mask.shape == (*self._leading, channels):
            return mask.reshape(-1, channels)
        raise ShapeError(
            f"{self.who}: the mask must have shape {(batch, 1)}, {self._leading} or "
            f"{(*self._leading, channels)}, got {mask.shape}."
        )
