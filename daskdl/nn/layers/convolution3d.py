"""The convolution layer for volumes."""

from typing import Literal

from daskdl.nn.conf.names import ConvolutionModeName
from daskdl.nn.conf.values import CountTriple, IndexTriple
from daskdl.nn.layers.convolving import ConvolvingConf, ConvolvingLayer
from daskdl.nn.layers.layer import works_for


class Convolution3D(ConvolvingConf):
    """A three-dimensional convolution (cross-correlation, as everywhere).

    Parameters
    ----------
    kernel_size, stride, dilation : (int, int, int) or int
        Depth, height and width; one number means all.
    padding : (int, int, int) or int
        Zeros on both sides; not used by mode ``same``.
    convolution_mode, has_bias
        As for :class:`Convolution2D`.
    """

    type: Literal["convolution3d"] = "convolution3d"
    kernel_size: CountTriple = (2, 2, 2)
    stride: CountTriple = (1, 1, 1)
    padding: IndexTriple = (0, 0, 0)
    dilation: CountTriple = (1, 1, 1)
    convolution_mode: ConvolutionModeName = "truncate"


@works_for(Convolution3D)
class Convolution3DLayer(ConvolvingLayer[Convolution3D]):
    """``activation(cross-correlation of x with W, plus b)`` of volumes."""
