"""The layer that cuts off the borders of volumes."""

from typing import Literal

from daskdl.nn.conf.values import SidesTriple
from daskdl.nn.layers.resizing import CroppingConf, CroppingLayer


class Cropping3D(CroppingConf):
    """Cut off the borders of volumes.

    Parameters
    ----------
    cropping : six or three int, or one
        Voxels in front of depth and behind it, the same of height, and of width;
        three numbers mean depth, height and width, one means all sides.
    """

    type: Literal["cropping3d"] = "cropping3d"
    cropping: SidesTriple


class Cropping3DLayer(CroppingLayer[Cropping3D]):
    """Volumes without their borders."""
