"""The separable convolution layer for images."""

import math
from typing import Literal

import numpy as np

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.kernels.conv import convolution_backward, convolution_forward
from daskdl.kernels.depthwise import depthwise_backward, depthwise_forward
from daskdl.kernels.window import Window, window_axis
from daskdl.nn.conf.input_type import InputType
from daskdl.nn.conf.names import ConvolutionModeName
from daskdl.nn.conf.parameters import Parameter
from daskdl.nn.conf.values import Count, CountPair, IndexPair
from daskdl.nn.layers.convolving import ConvolvingConf, ConvolvingLayer
from daskdl.nn.layers.layer import works_for


class SeparableConvolution2D(ConvolvingConf):
    """A convolution of each channel by itself, then of all channels cell by cell.

    Parameters
    ----------
    depth_multiplier : int
        Kernels of the first step for each input channel.
    kernel_size, stride, dilation, padding, convolution_mode, has_bias
        As for :class:`Convolution2D`, for the first step. The bias is added after the
        second.
    """

    type: Literal["separable_convolution2d"] = "separable_convolution2d"
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
        return ("W", "pW", "b") if self.has_bias else ()

    def parameters(self, input_type: InputType) -> tuple[Parameter, ...]:
        """Return b, W and pW as they lie in files.

        b (n_out,), W (depth_multiplier, n_in, *kernel) of the first step and pW
        (n_out, n_in * depth_multiplier, 1, 1) of the second.
        """
        n_in = self.inferred_n_in(input_type)
        shape = (self.depth_multiplier, n_in, *self.kernel_size)
        between = (self.n_out, n_in * self.depth_multiplier, 1, 1)
        return (
            *self.bias_parameters(),
            Parameter("W", shape, order="c"),
            Parameter("pW", between, order="c"),
        )

    def file_order(self, input_type: InputType) -> tuple[str, ...]:
        """Return the order in which they lie here, too."""
        return tuple(item.name for item in self.parameters(input_type))


@works_for(SeparableConvolution2D)
class SeparableConvolution2DLayer(ConvolvingLayer[SeparableConvolution2D]):
    """``activation((channels convolved by themselves with W) @ pW + b)``."""

    def initialize(self, rng: np.random.Generator) -> None:
        """Draw W and pW by their fans; every bias is `bias_init`.

        The fans of W are n_in * kernel cells, and depth_multiplier * kernel cells /
        stride cells; both of pW are n_in * depth_multiplier.
        """
        super().initialize(rng)
        n_between = self.params["pW"].shape[1]
        self._draw("pW", n_between, n_between, rng)

    def _fans(self) -> tuple[float, float]:
        fan_in, _ = super()._fans()
        stride = math.prod(self.conf.stride)
        return fan_in, self._fan(self.conf.depth_multiplier) / stride

    def _convolve(self, out: FloatArray) -> None:
        weight, pointwise = self._weights()
        shape = (*out.shape[:-1], pointwise.shape[-2])
        self._between = self._buffer("between", shape, out.dtype)
        depthwise_forward(
            self._x, weight, None, self._window, self._workspace, out=self._between
        )
        convolution_forward(
            self._between,
            pointwise,
            self.params.get("b"),
            self._cell_by_cell(),
            self._workspace,
            out=out,
        )

    def _convolve_back(
        self, grad_preout: FloatArray, grad_x: FloatArray | None
    ) -> FloatArray | None:
        weight, pointwise = self._weights()
        grad_pointwise = self._like("grad_pointwise", pointwise)
        grad_between = self._like("grad_between", self._between)
        convolution_backward(
            grad_preout,
            self._between,
            pointwise,
            self._cell_by_cell(),
            self._workspace,
            grad_weight=grad_pointwise,
            grad_bias=self.gradients.get("b"),
            grad_x=grad_between,
        )
        self.gradients["pW"][...] = grad_pointwise.transpose(3, 2, 0, 1)
        grad_weight = self._like("grad_weight", weight)
        depthwise_backward(
            grad_between,
            self._x,
            weight,
            self._window,
            self._workspace,
            grad_weight=grad_weight,
            grad_bias=None,
            grad_x=grad_x,
        )
        self.gradients["W"][...] = grad_weight.transpose(3, 2, 0, 1)
        return grad_x

    def _cell_by_cell(self) -> Window:
        """Return the window of the second step."""
        return Window(
            *(window_axis(size, 1, 1, 0, 1, "truncate") for size in self._window.out)
        )

    def _weights(self) -> tuple[FloatArray, FloatArray]:
        """Return copies of W as (*kernel, n_in, multiplier), pW as (1, 1, n_in, n_out).

        The vector holds them as files do: some dialects deal regularization along it.
        """
        return self._copied("W"), self._copied("pW")

    def _copied(self, name: str) -> FloatArray:
        given = self.params[name].transpose(2, 3, 1, 0)
        copy = self._like(f"copy of {name}", given)
        array_namespace(copy).copyto(copy, given)
        return copy
