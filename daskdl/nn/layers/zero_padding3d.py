"""The layer that puts zeros around volumes."""

from typing import Literal

from daskdl.nn.conf.values import SidesTriple
from daskdl.nn.layers.resizing import PaddingConf, PaddingLayer


class ZeroPadding3D(PaddingConf):
    """Put zeros around volumes.

    Parameters
    ----------
    padding : six or three int, or one
        Zeros in front of depth and behind it, the same of height, and of width;
        three numbers mean depth, height and width, one means all sides.
    """

    type: Literal["zero_padding3d"] = "zero_padding3d"
    padding: SidesTriple


class ZeroPadding3DLayer(PaddingLayer[ZeroPadding3D]):
    """Volumes with zeros around."""
