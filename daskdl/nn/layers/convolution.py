"""The two-dimensional convolution layer."""

from typing import Literal

from daskdl.nn.conf.names import ConvolutionModeName
from daskdl.nn.conf.values import CountPair, IndexPair
from daskdl.nn.layers.convolving import ConvolvingConf, ConvolvingLayer


class Convolution2D(ConvolvingConf):
    """A two-dimensional convolution (cross-correlation, as everywhere).

    Parameters
    ----------
    kernel_size, stride, dilation : (int, int) or int
        Height and width; one number means both.
    padding : (int, int) or int
        Zeros on both sides; not used by mode ``same``.
    convolution_mode : {"truncate", "same", "strict"}
        What happens where kernel and stride do not fit: cut off the rest, pad so
        that the output has ``ceil(size / stride)``, or refuse.
    has_bias : bool
        Whether a bias is added.

    References
    ----------
    DL4J's `ConvolutionLayer`.
    """

    type: Literal["convolution2d"] = "convolution2d"
    kernel_size: CountPair = (5, 5)
    stride: CountPair = (1, 1)
    padding: IndexPair = (0, 0)
    dilation: CountPair = (1, 1)
    convolution_mode: ConvolutionModeName = "truncate"


class ConvolutionLayer(ConvolvingLayer[Convolution2D]):
    """``activation(cross-correlation of x with W, plus b)`` of images."""
