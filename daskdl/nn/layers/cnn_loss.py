"""The loss at each pixel of images."""

from typing import Literal

from daskdl.nn.conf.input_type import Convolutional, InputType
from daskdl.nn.layers.entering import images_in
from daskdl.nn.layers.layer import works_for
from daskdl.nn.layers.pixel_loss import PixelLossConf, PixelLossLayer


class CnnLoss(PixelLossConf):
    """A loss at each pixel of images, without parameters.

    Parameters
    ----------
    loss : loss
        By name or with options. It sees the channels of one pixel as one row.
    activation : str or activation, optional
        Applied to the input; softmax is over channels. None means what belongs to the
        loss.
    """

    type: Literal["cnn_loss"] = "cnn_loss"

    def entering(self, input_type: InputType) -> Convolutional:
        """Return the images that come in; refuse everything else."""
        return images_in(self, input_type)


@works_for(CnnLoss)
class CnnLossLayer(PixelLossLayer[CnnLoss]):
    """``activation(x)`` with a loss at each pixel."""
