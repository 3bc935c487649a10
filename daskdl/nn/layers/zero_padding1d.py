"""The layer that puts zeros around series."""

from typing import Literal

from daskdl.nn.conf.values import Sides
from daskdl.nn.layers.resizing import PaddingConf, PaddingLayer


class ZeroPadding1D(PaddingConf):
    """Put zeros around series.

    Parameters
    ----------
    padding : (int, int) or int
        Zeros in front and behind; one number means both.

    References
    ----------
    DL4J's `ZeroPadding1DLayer`.
    """

    type: Literal["zero_padding1d"] = "zero_padding1d"
    padding: Sides


class ZeroPadding1DLayer(PaddingLayer[ZeroPadding1D]):
    """Series with zeros around."""
