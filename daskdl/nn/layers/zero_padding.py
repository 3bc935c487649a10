"""The layer that puts zeros around images."""

from typing import Literal

from daskdl.nn.conf.values import SidesPair
from daskdl.nn.layers.resizing import PaddingConf, PaddingLayer


class ZeroPadding(PaddingConf):
    """Put zeros around images.

    Parameters
    ----------
    padding : (int, int, int, int), (int, int) or int
        Zeros at top, bottom, left and right; two numbers mean height and
        width, one means all sides.
    """

    type: Literal["zero_padding"] = "zero_padding"
    padding: SidesPair


class ZeroPaddingLayer(PaddingLayer[ZeroPadding]):
    """Images with zeros around."""
