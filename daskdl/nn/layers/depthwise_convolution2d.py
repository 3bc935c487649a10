"""The depthwise convolution layer for images."""

import math
from collections.abc import Mapping
from typing import Any, Literal

from daskdl.kernels.depthwise import depthwise_backward, depthwise_forward
from daskdl.nn.conf.axes import with_shape
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.input_type import InputType, inside_type
from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.conf.names import ConvolutionModeName
from daskdl.nn.conf.parameters import Parameter
from daskdl.nn.conf.values import Count, CountPair, IndexPair
from daskdl.nn.layers.convolving import ConvolvingConf, ConvolvingLayer, KernelPair
from daskdl.nn.layers.entering import Sized
from daskdl.nn.layers.layer import works_for


class DepthwiseConvolution2D(ConvolvingConf):
    """A convolution of each channel by itself, with `depth_multiplier` kernels.

    Parameters
    ----------
    depth_multiplier : int
        Output channels for each input channel; they lie side by side.
    n_out : int, optional
        Inferred: ``n_in * depth_multiplier``.
    kernel_size, stride, dilation, padding, convolution_mode, has_bias
        As for :class:`Convolution2D`.
    """

    type: Literal["depthwise_convolution2d"] = "depthwise_convolution2d"
    n_out: Count | None = None  # type: ignore[assignment]
    depth_multiplier: Count = 1
    kernel_size: CountPair = (5, 5)
    stride: CountPair = (1, 1)
    padding: IndexPair = (0, 0)
    dilation: CountPair = (1, 1)
    convolution_mode: ConvolutionModeName = "truncate"

    @property
    def table_order(self) -> tuple[str, ...]:
        """The order in which some dialects deal regularization and updaters."""
        # They list the bias last and lay it first.
        return ("W", "b") if self.has_bias else ()

    def filled(
        self, defaults: Mapping[str, Any], input_type: InputType, name: str
    ) -> LayerConf:
        """Return a copy with nothing left open, `n_out` included."""
        filled = super().filled(defaults, input_type, name)
        n_out = self.inferred_n_out(inside_type(input_type))
        return filled.model_copy(update={"n_out": n_out})

    def inferred_n_out(self, input_type: InputType) -> int:
        """Return how many channels come out; refuse an `n_out` that contradicts.

        Raises
        ------
        OptionError
            If `n_out` is given and is not what `depth_multiplier` gives.
        """
        n_out = self.inferred_n_in(input_type) * self.depth_multiplier
        if self.n_out not in (None, n_out):
            raise PathError(
                f"must be {n_out}, depth_multiplier {self.depth_multiplier} times the "
                f"channels that come in, got {self.n_out}. Leave it out to infer it.",
                "n_out",
            )
        return n_out

    def output_type(self, input_type: InputType) -> Sized:
        """Return images of ``n_in * depth_multiplier`` channels."""
        entered = self.entering(input_type)
        sizes = self.sizes_after(entered.shape[:-1])
        return with_shape(entered, (*sizes, self.inferred_n_out(entered)))

    def parameters(self, input_type: InputType) -> tuple[Parameter, ...]:
        """Return b (n_out,) and W ``(*kernel, n_in, depth_multiplier)``."""
        shape = (
            *self.kernel_size,
            self.inferred_n_in(input_type),
            self.depth_multiplier,
        )
        weight = Parameter("W", shape, order="c")
        if not self.has_bias:
            return (weight,)
        return (Parameter("b", (self.inferred_n_out(input_type),), "bias"), weight)


@works_for(DepthwiseConvolution2D)
class DepthwiseConvolution2DLayer(ConvolvingLayer[DepthwiseConvolution2D]):
    """``activation(cross-correlation of each channel with its own W, plus b)``.

    The fans of W are n_in * kernel cells, and depth_multiplier * kernel cells / stride
    cells.
    """

    _kernels: KernelPair = (depthwise_forward, depthwise_backward)

    def _fans(self) -> tuple[float, float]:
        fan_in, _ = super()._fans()
        stride = math.prod(self.conf.stride)
        return fan_in, self._fan(self.conf.depth_multiplier) / stride
