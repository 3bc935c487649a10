"""What the losses at each pixel of images and at each voxel of volumes share."""

import math
from typing import ClassVar, TypeVar

from daskdl.arrays.namespace import FloatArray
from daskdl.arrays.workspace import Workspace
from daskdl.errors import ShapeError
from daskdl.nn.conf.input_type import InputType
from daskdl.nn.conf.layer import DroppedLayerConf
from daskdl.nn.layers.bare_loss import BareLossConf, BareLossLayer


class PixelLossConf(BareLossConf, DroppedLayerConf):
    """A loss at each pixel or voxel; see its kinds for the options."""

    takes_network_dropout: ClassVar[bool] = False


L = TypeVar("L", bound=PixelLossConf)


class PixelLossLayer(BareLossLayer[L]):
    """``activation(x)`` with a loss that sees pixels as rows.

    A mask of the labels is of whole examples (batch,) or (batch, 1), of pixels (batch,
    *axes) or (batch, *axes, 1), or of single outputs like the labels. Without, one of
    examples or pixels that arrives with the input counts.
    """

    def __init__(
        self, conf: L, input_type: InputType, name: str, workspace: Workspace
    ) -> None:
        super().__init__(conf, input_type, name, workspace)
        self.masks_output = "pixel_losses_leave_masked_outputs" not in conf.quirks

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
