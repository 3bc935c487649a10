"""The layers that convolve each channel of images by itself."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.kernels.conv import convolution_backward, convolution_forward
from daskdl.kernels.depthwise import depthwise_backward, depthwise_forward
from daskdl.kernels.window import Window, window_axis
from daskdl.nn.conf.axes import with_shape
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.input_type import InputType, inside_type
from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.conf.names import ConvolutionModeName
from daskdl.nn.conf.options import TrainingOptions, WeightOptions
from daskdl.nn.conf.parameters import Parameter
from daskdl.nn.conf.values import Count, CountPair, IndexPair
from daskdl.nn.layers.convolution import ConvolvingConf, KernelPair, grad_buffer
from daskdl.nn.layers.input_kinds import Sized
from daskdl.nn.run import Backward, Run


class DepthwiseConvolution2D(ConvolvingConf, WeightOptions, TrainingOptions, LayerConf):
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

    can_be_cut: ClassVar[bool] = True

    type: Literal["depthwise_convolution2d"] = "depthwise_convolution2d"
    n_out: Count | None = None  # type: ignore[assignment]
    depth_multiplier: Count = 1
    kernel_size: CountPair = (5, 5)
    stride: CountPair = (1, 1)
    padding: IndexPair = (0, 0)
    dilation: CountPair = (1, 1)
    convolution_mode: ConvolutionModeName = "truncate"

    kernels: ClassVar[KernelPair] = (depthwise_forward, depthwise_backward)

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
        """Return the channels of the output; refuse an `n_out` that contradicts.

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
        n_in = self.inferred_n_in(input_type)
        shape = (*self.kernel_size, n_in, self.depth_multiplier)
        weight = Parameter("W", shape, order="c")
        if not self.has_bias:
            return (weight,)
        return (Parameter("b", (self.inferred_n_out(input_type),), "bias"), weight)


class SeparableConvolution2D(ConvolvingConf, WeightOptions, TrainingOptions, LayerConf):
    """A convolution of each channel by itself, then of all channels cell by cell.

    Parameters
    ----------
    depth_multiplier : int
        Kernels of the first step for each input channel.
    kernel_size, stride, dilation, padding, convolution_mode, has_bias
        As for :class:`Convolution2D`, for the first step. The bias is added after the
        second.
    """

    can_be_cut: ClassVar[bool] = True

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

    def fans(self, parameter: Parameter) -> tuple[float, float]:
        """Return a depthwise convolution's fans for W, twice the inputs for pW."""
        first, second, *_ = parameter.shape
        return self.fans_of(second, first) if parameter.name == "W" else (second,) * 2

    def _convolve(
        self, kernels: KernelPair, run: Run, x: FloatArray, window: Window, out: Any
    ) -> Backward:
        workspace = run.workspace
        weight, pointwise = _copied(run, "W"), _copied(run, "pW")
        cells = (window_axis(size, 1, 1, 0, 1, "truncate") for size in window.out)
        each = Window(*cells)
        shape = (*out.shape[:-1], pointwise.shape[-2])
        between = run.lent("between", shape, out.dtype)
        depthwise_forward(x, weight, None, window, workspace, out=between)
        bias = run.params.get("b")
        convolution_forward(between, pointwise, bias, each, workspace, out=out)

        def back(grad_out: FloatArray) -> FloatArray | None:
            grad_pointwise = run.like("grad_pointwise", pointwise)
            grad_between = run.lent_like("grad_between", between)
            grad_weight = run.like("grad_weight", weight)
            grad_x = grad_buffer(run, x)
            convolution_backward(
                *(grad_out, between, pointwise, each, workspace),
                grad_weight=grad_pointwise,
                grad_bias=run.gradients.get("b"),
                grad_x=grad_between,
            )
            run.gradients["pW"][...] = grad_pointwise.transpose(3, 2, 0, 1)
            depthwise_backward(
                *(grad_between, x, weight, window, workspace),
                grad_weight=grad_weight,
                grad_bias=None,
                grad_x=grad_x,
            )
            run.gradients["W"][...] = grad_weight.transpose(3, 2, 0, 1)
            return grad_x

        return back


def _copied(run: Run, name: str) -> FloatArray:
    """Return a copy of W as (*kernel, n_in, multiplier), pW as (1, 1, n_in, n_out).

    The vector holds them as files do: some dialects deal regularization along it.
    """
    given = run.params[name].transpose(2, 3, 1, 0)
    copy = run.like(f"copy of {name}", given)
    array_namespace(copy).copyto(copy, given)
    return copy
