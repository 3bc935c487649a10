"""The layer that repeats pixels."""

from typing import Literal

from daskdl.nn.conf.values import CountPair
from daskdl.nn.layers.resizing import UpsamplingConf, UpsamplingLayer


class Upsampling2D(UpsamplingConf):
    """Repeat the pixels of images.

    Parameters
    ----------
    size : (int, int) or int
        How often each pixel along height and width; one number means both.
    """

    type: Literal["upsampling2d"] = "upsampling2d"
    size: CountPair = (2, 2)


class Upsampling2DLayer(UpsamplingLayer[Upsampling2D]):
    """Each of the pixels several times."""
