"""The loss at each voxel of volumes."""

from typing import Literal

from daskdl.nn.conf.input_type import Convolutional3D, InputType
from daskdl.nn.layers.entering import volumes_in
from daskdl.nn.layers.layer import works_for
from daskdl.nn.layers.pixel_loss import PixelLossConf, PixelLossLayer


class Cnn3DLoss(PixelLossConf):
    """A loss at each voxel of volumes, without parameters.

    Parameters
    ----------
    loss : loss
        By name or with options. It sees the channels of one voxel as one row.
    activation : str or activation, optional
        Applied to the input; softmax is over channels. None means what belongs to the
        loss.
    """

    type: Literal["cnn3d_loss"] = "cnn3d_loss"

    def entering(self, input_type: InputType) -> Convolutional3D:
        """Return the volumes that come in; refuse everything else."""
        return volumes_in(self, input_type)


@works_for(Cnn3DLoss)
class Cnn3DLossLayer(PixelLossLayer[Cnn3DLoss]):
    """``activation(x)`` with a loss at each voxel."""
