"""The deconvolution layer for volumes."""

from typing import Literal

from daskdl.nn.conf.input_type import InputType
from daskdl.nn.conf.parameters import Parameter
from daskdl.nn.conf.values import CountTriple, IndexTriple
from daskdl.nn.layers.deconvolving import DeconvolvingConf, DeconvolvingLayer
from daskdl.nn.layers.layer import works_for


class Deconvolution3D(DeconvolvingConf):
    """A three-dimensional deconvolution (transposed convolution).

    Parameters
    ----------
    kernel_size, stride, dilation : (int, int, int) or int
        Depth, height and width; one number means all.
    padding : (int, int, int) or int
        Cells cut off the output on both sides; not used by mode ``same``.
    convolution_mode, has_bias
        As for :class:`Deconvolution2D`.
    """

    type: Literal["deconvolution3d"] = "deconvolution3d"
    kernel_size: CountTriple = (2, 2, 2)
    stride: CountTriple = (1, 1, 1)
    padding: IndexTriple = (0, 0, 0)
    dilation: CountTriple = (1, 1, 1)

    def parameters(self, input_type: InputType) -> tuple[Parameter, ...]:
        """Return W ``(*kernel, n_out, n_in)``, outputs first, and b (n_out,)."""
        shape = (*self.kernel_size, self.n_out, self.inferred_n_in(input_type))
        return (Parameter("W", shape, order="c"), *self.bias_parameters())


@works_for(Deconvolution3D)
class Deconvolution3DLayer(DeconvolvingLayer[Deconvolution3D]):
    """``activation(sum of what x times W sends to each cell, plus b)`` of volumes."""
