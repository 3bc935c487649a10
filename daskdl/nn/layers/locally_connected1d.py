"""The locally connected layer for time series."""

from typing import Literal

from daskdl.nn.conf.values import CountSingle, IndexSingle
from daskdl.nn.layers.layer import works_for
from daskdl.nn.layers.locally_connecting import (
    LocallyConnectingConf,
    LocallyConnectingLayer,
)


class LocallyConnected1D(LocallyConnectingConf):
    """A convolution over time steps with weights for each window.

    The series must all have the same, known number of time steps. Shorter ones have
    masks: what these drop counts as 0, and windows that a series does not have come out
    as 0.

    Parameters
    ----------
    kernel_size, stride : int
        Time steps.
    padding : int
        Steps of zeros on both sides; not used by mode ``same``.
    dilation : int
        Time steps from one cell of a window to the next.
    input_size : int, optional
        Inferred from the input, unless that leaves it open.
    convolution_mode : {"same", "truncate", "strict"}
        As for :class:`Convolution1D`.
    activation : str or activation
        By default tanh, whatever the network says.
    has_bias : bool
        Whether a bias is added, the same for all windows.
    """

    type: Literal["locally_connected1d"] = "locally_connected1d"
    kernel_size: CountSingle = (2,)
    stride: CountSingle = (1,)
    padding: IndexSingle = (0,)
    dilation: CountSingle = (1,)
    input_size: CountSingle | None = None


@works_for(LocallyConnected1D)
class LocallyConnected1DLayer(LocallyConnectingLayer[LocallyConnected1D]):
    """``activation(each window of time steps @ its own W, plus b)``."""
