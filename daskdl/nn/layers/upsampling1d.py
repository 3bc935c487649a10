"""The layer that repeats time steps."""

from typing import Literal

from daskdl.nn.conf.values import CountSingle
from daskdl.nn.layers.resizing import UpsamplingConf, UpsamplingLayer


class Upsampling1D(UpsamplingConf):
    """Repeat the time steps of series.

    Parameters
    ----------
    size : int
        How often each step.
    """

    type: Literal["upsampling1d"] = "upsampling1d"
    size: CountSingle = (2,)


class Upsampling1DLayer(UpsamplingLayer[Upsampling1D]):
    """Each of the time steps several times."""
