"""The locally connected layer for images."""

from typing import Literal

from daskdl.nn.conf.values import CountPair, IndexPair
from daskdl.nn.layers.layer import works_for
from daskdl.nn.layers.locally_connecting import (
    LocallyConnectingConf,
    LocallyConnectingLayer,
)


class LocallyConnected2D(LocallyConnectingConf):
    """A two-dimensional convolution with weights for each window.

    The images must all have the same, known size.

    Parameters
    ----------
    kernel_size, stride : (int, int) or int
        Height and width; one number means both.
    padding : (int, int) or int
        Zeros on both sides; not used by mode ``same``.
    dilation : (int, int) or int
        Pixels from one cell of a window to the next.
    input_size : (int, int) or int, optional
        Inferred from the input, unless that leaves it open.
    convolution_mode : {"same", "truncate", "strict"}
        As for :class:`Convolution2D`.
    activation : str or activation
        By default tanh, whatever the network says.
    has_bias : bool
        Whether a bias is added, the same for all windows.
    """

    type: Literal["locally_connected2d"] = "locally_connected2d"
    kernel_size: CountPair = (2, 2)
    stride: CountPair = (1, 1)
    padding: IndexPair = (0, 0)
    dilation: CountPair = (1, 1)
    input_size: CountPair | None = None


@works_for(LocallyConnected2D)
class LocallyConnected2DLayer(LocallyConnectingLayer[LocallyConnected2D]):
    """``activation(each window of an image @ its own W, plus b)``."""
