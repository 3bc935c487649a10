"""The layer that cuts off the borders of series."""

from typing import Literal

from daskdl.nn.conf.values import Sides
from daskdl.nn.layers.resizing import CroppingConf, CroppingLayer


class Cropping1D(CroppingConf):
    """Cut off the borders of series.

    Parameters
    ----------
    cropping : (int, int) or int
        Time steps in front and behind; one number means both.

    References
    ----------
    DL4J's `Cropping1D`.
    """

    type: Literal["cropping1d"] = "cropping1d"
    cropping: Sides


class Cropping1DLayer(CroppingLayer[Cropping1D]):
    """Series without their borders."""
