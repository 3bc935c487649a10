"""The layer that cuts off the borders of images."""

from typing import Literal

from daskdl.nn.conf.values import SidesPair
from daskdl.nn.layers.resizing import CroppingConf, CroppingLayer


class Cropping2D(CroppingConf):
    """Cut off the borders of images.

    Parameters
    ----------
    cropping : (int, int, int, int), (int, int) or int
        Pixels at top, bottom, left and right; two numbers mean height and
        width, one means all sides.
    """

    type: Literal["cropping2d"] = "cropping2d"
    cropping: SidesPair


class Cropping2DLayer(CroppingLayer[Cropping2D]):
    """Images without their borders."""
