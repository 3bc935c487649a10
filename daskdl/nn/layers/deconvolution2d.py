"""The deconvolution layer for images."""

from typing import Literal

from daskdl.nn.conf.values import CountPair, IndexPair
from daskdl.nn.layers.deconvolving import DeconvolvingConf, DeconvolvingLayer
from daskdl.nn.layers.layer import works_for


class Deconvolution2D(DeconvolvingConf):
    """A two-dimensional deconvolution (transposed convolution).

    Parameters
    ----------
    kernel_size, stride, dilation : (int, int) or int
        Height and width; one number means both. Cells of the input lie `stride` apart
        in the output.
    padding : (int, int) or int
        Cells cut off the output on both sides; not used by mode ``same``.
    convolution_mode : {"truncate", "same", "strict"}
        ``same`` gives ``stride * size``, the others
        ``stride * (size - 1) + reach - 2 * padding`` for a dilated kernel of `reach`
        cells.
    has_bias : bool
        Whether a bias is added.
    """

    type: Literal["deconvolution2d"] = "deconvolution2d"
    kernel_size: CountPair = (5, 5)
    stride: CountPair = (1, 1)
    padding: IndexPair = (0, 0)
    dilation: CountPair = (1, 1)


@works_for(Deconvolution2D)
class Deconvolution2DLayer(DeconvolvingLayer[Deconvolution2D]):
    """``activation(sum of what x times W sends to each cell, plus b)`` of images."""
