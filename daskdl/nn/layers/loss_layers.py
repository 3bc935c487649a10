"""The losses that have no weights: of rows, time series, images and volumes."""

import math
from typing import ClassVar, Literal

from daskdl.arrays.namespace import FloatArray
from daskdl.errors import ShapeError
from daskdl.nn.conf.activations import AnyActivation
from daskdl.nn.conf.input_type import (
    Convolutional,
    Convolutional3D,
    FeedForward,
    InputType,
    Recurrent,
)
from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.conf.options import DropoutOptions
from daskdl.nn.conf.values import Conf
from daskdl.nn.layers.input_kinds import images_in, rows_in, series_in, volumes_in
from daskdl.nn.layers.row_loss import RowLossConf
from daskdl.nn.masks import rows_of_mask
from daskdl.nn.run import Backward, Run


class LossLayerConf(Conf):
    """A loss without weights.

    Parameters
    ----------
    activation : activation, optional
        None means what belongs to the loss, as for
        :class:`~daskdl.nn.layers.output.Output`.
    """

    has_mean_score: ClassVar[bool] = True

    activation: AnyActivation | None = None

    def preout(self, run: Run, x: FloatArray) -> tuple[FloatArray, Backward]:
        """Return the input as rows, (rows, n); see :meth:`RowLossConf.preout`."""
        return x.reshape(-1, x.shape[-1]), lambda grad: grad.reshape(x.shape)


class LossLayer(LossLayerConf, RowLossConf, LayerConf):
    """The last layer of a network on rows, without weights: activation and loss.

    Masked rows come out as 0.
    """

    can_be_cut: ClassVar[bool] = True

    type: Literal["loss"] = "loss"

    def output_type(self, input_type: InputType) -> FeedForward:
        """Return an input of rows; refuse other input."""
        hint = "Use RnnLoss for time series and CnnLoss for images."
        return rows_in(self, input_type, hint)


class RnnLoss(LossLayerConf, RowLossConf, LayerConf):
    """The last layer of a network on time series, without weights.

    The losses of the time steps are summed. Masked steps come out as 0.
    """

    can_be_cut: ClassVar[bool] = True

    type: Literal["rnn_loss"] = "rnn_loss"

    @property
    def zeroes_masked_rows(self) -> bool:
        """Whether masked steps of the output are 0."""
        return "rnn_loss_shows_masked_steps" not in self.quirks

    @property
    def masks_output(self) -> bool:
        """Whether a mask of the labels sets masked steps of the output to 0."""
        return self.zeroes_masked_rows

    def output_type(self, input_type: InputType) -> Recurrent:
        """Return an input of time series; refuse other input."""
        return series_in(self, input_type, "Use LossLayer for rows.")

    def loss_mask(
        self, run: Run, mask: FloatArray, shape: tuple[int, ...]
    ) -> FloatArray:
        """Return a mask of steps, (rows, 1); see :meth:`RowLossConf.loss_mask`."""
        return rows_of_mask(mask, shape, run.who)


class PixelLossConf(Conf):
    """A loss at each pixel or voxel.

    A mask of the labels is of whole examples (batch,) or (batch, 1), of pixels (batch,
    *axes) or (batch, *axes, 1), or of single outputs like the labels. Without, one of
    examples or pixels that arrives with the input counts.

    The loss sees the channels of one pixel as one row, and a softmax is over channels.
    """

    takes_network_dropout: ClassVar[bool] = False

    @property
    def zeroes_masked_rows(self) -> bool:
        """False: pixels come out as they are."""
        return False

    @property
    def masks_output(self) -> bool:
        """Whether a mask of the labels sets masked pixels of the output to 0."""
        return "pixel_losses_leave_masked_outputs" not in self.quirks

    def loss_mask(
        self, run: Run, mask: FloatArray, shape: tuple[int, ...]
    ) -> FloatArray:
        """Return a mask of pixels; see :meth:`RowLossConf.loss_mask`.

        Returns
        -------
        ndarray of shape (pixels of all examples,) or the same with (..., channels)

        Raises
        ------
        ShapeError
            If the mask does not fit.
        """
        leading, channels = shape[:-1], shape[-1]
        batch, *axes = leading
        if mask.shape in ((batch,), (batch, 1)):
            rows = run.buffer("mask", (batch, math.prod(axes)), mask.dtype)
            rows[...] = mask.reshape(batch, 1)
            return rows.reshape(-1)
        if mask.shape in (leading, (*leading, 1)):
            return mask.reshape(-1)
        if mask.shape == shape:
            return mask.reshape(-1, channels)
        raise ShapeError(
            f"{run.who}: the mask must have shape {(batch, 1)}, {leading} or {shape}, "
            f"got {mask.shape}."
        )


class CnnLoss(PixelLossConf, LossLayerConf, RowLossConf, DropoutOptions, LayerConf):
    """A loss at each pixel of images, without parameters."""

    can_be_cut: ClassVar[bool] = True

    type: Literal["cnn_loss"] = "cnn_loss"

    def output_type(self, input_type: InputType) -> Convolutional:
        """Return an input of images; refuse other input."""
        return images_in(self, input_type)


class Cnn3DLoss(PixelLossConf, LossLayerConf, RowLossConf, DropoutOptions, LayerConf):
    """A loss at each voxel of volumes, without parameters."""

    can_be_cut: ClassVar[bool] = True

    type: Literal["cnn3d_loss"] = "cnn3d_loss"

    def output_type(self, input_type: InputType) -> Convolutional3D:
        """Return an input of volumes; refuse other input."""
        return volumes_in(self, input_type)
