"""The convolution layers, and their base: weights under a sliding window."""

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NoReturn, TypeAlias

from pydantic import Field

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.errors import ShapeError
from daskdl.kernels.conv import convolution_backward, convolution_forward
from daskdl.kernels.pooled_conv import (
    pooled_convolution_backward,
    pooled_convolution_forward,
)
from daskdl.kernels.pooled_conv.windows import PooledWindows
from daskdl.kernels.window import Window
from daskdl.nn.activations.function import ActivationFunction
from daskdl.nn.activations.identity import IDENTITY
from daskdl.nn.activations.rectifiers import RELU
from daskdl.nn.activations.table import activation_function
from daskdl.nn.conf.axes import with_shape
from daskdl.nn.conf.input_type import InputType, features_of
from daskdl.nn.conf.layer import LayerConf, WeightGroup
from daskdl.nn.conf.names import ConvolutionModeName, SeriesConvolutionModeName
from daskdl.nn.conf.options import TrainingOptions, WeightOptions
from daskdl.nn.conf.parameters import Parameter
from daskdl.nn.conf.values import (
    Conf,
    CountPair,
    CountSingle,
    CountTriple,
    IndexPair,
    IndexSingle,
    IndexTriple,
)
from daskdl.nn.layers.activation import activate, way_through
from daskdl.nn.layers.input_kinds import Sized, sized_in
from daskdl.nn.layers.masked_series import MaskedSeries
from daskdl.nn.layers.scaling import Scaling
from daskdl.nn.layers.windows import (
    Counts,
    Indices,
    window_mask,
    window_of,
    window_sizes,
)
from daskdl.nn.masks import check_step_mask
from daskdl.nn.run import Backward, Run, Work

KernelPair: TypeAlias = tuple[Callable[..., Any], Callable[..., Any]]


class ConvolvingConf(WeightGroup):
    """A layer with weights under a window; see its kinds for the options."""

    kernel_size: Counts
    stride: Counts
    padding: Indices
    dilation: Counts
    convolution_mode: SeriesConvolutionModeName = "truncate"
    has_bias: bool = True

    # What makes pre-activations of windows and weights, and takes the gradient back.
    kernels: ClassVar[KernelPair] = (convolution_forward, convolution_backward)
    # The same with a rectifier behind, if that costs less than two passes.
    rectifying_kernels: ClassVar[KernelPair | None] = None

    @property
    def n_axes(self) -> int:
        """1 for series, 2 for images, 3 for volumes."""
        return len(self.kernel_size)

    def entering(self, input_type: InputType) -> Sized:
        """Return an input of series, images or volumes; refuse other input."""
        return sized_in(self, input_type, self.n_axes)

    def inferred_n_in(self, input_type: InputType) -> int:
        """Return the number of channels that come in."""
        return self._agreed_n_in(features_of(self.entering(input_type)), input_type)

    def sizes_after(self, sizes: tuple[int | None, ...]) -> tuple[int | None, ...]:
        """Return the sizes of the output; unknown sizes stay unknown."""
        return window_sizes(self, sizes)

    def window(self, sizes: tuple[int, ...]) -> Window:
        """Return where the window lies for an input of these sizes."""
        return window_of(self, sizes)

    def sizes_under(self, window: Window) -> tuple[int, ...]:
        """Return the sizes that come out where the window lies so."""
        return window.out

    def output_type(self, input_type: InputType) -> Sized:
        """Return series, images or volumes of `n_out` channels."""
        entered = self.entering(input_type)
        self.inferred_n_in(entered)
        sizes = self.sizes_after(entered.shape[:-1])
        return with_shape(entered, (*sizes, self.n_out))

    def parameters(self, input_type: InputType) -> tuple[Parameter, ...]:
        """Return W ``(*kernel, n_in, n_out)`` and b (n_out,)."""
        n = self.n_axes
        shape = (*self.kernel_size, self.inferred_n_in(input_type), self.n_out)
        axes = (n + 1, n, *range(n))
        weight = Parameter("W", shape, axes=axes, order="c")
        return (weight, *self.bias_parameters())

    def bias_parameters(self) -> tuple[Parameter, ...]:
        """Return b (n_out,), if there is one."""
        return (Parameter("b", (self.n_out,), "bias"),) if self.has_bias else ()

    def file_order(self, input_type: InputType) -> tuple[str, ...]:
        """Return the bias first."""
        return ("b", "W") if self.has_bias else ("W",)

    def fans(self, parameter: Parameter) -> tuple[float, float]:
        """Return n_in * kernel cells, and n_out * kernel cells / stride cells."""
        *_, n_in, n_out = parameter.shape
        return self.fans_of(n_in, n_out)

    def fans_of(self, n_in: int, n_out: int) -> tuple[float, float]:
        """Return the fans of weights between so many channels."""
        cells = math.prod(self.kernel_size)
        return float(n_in * cells), n_out * cells / math.prod(self.stride)

    def can_take_over(self, work: Work) -> bool:
        """Return whether it can rectify: if it has no activation."""
        return work == "rectifier" and self.function is IDENTITY

    @property
    def function(self) -> ActivationFunction:
        """The activation."""
        return activation_function(self.activation, self.quirks)

    def forward(self, run: Run, x: FloatArray) -> tuple[FloatArray, Backward]:
        """Convolve `x`, of shape (batch, ..., n_in), and apply the activation.

        What a mask drops of series counts as 0, and windows that a series does not
        have come out as 0. Masks of images and volumes only pass by.
        """
        window, mask, series = self.window(x.shape[1:-1]), run.mask, None
        kept: Any = None
        if mask is not None and self.drops_masked_steps:
            check_step_mask(mask, x, run.who)
            series = MaskedSeries(self, run)
            kept = series.window_mask(mask, window)[:, :, None]
            x, window = series.enter(x, mask, window)
        function = RELU if run.fused.rectifies else self.function
        shape = (x.shape[0], *self.sizes_under(window), self.n_out)
        preout = output = run.lent("preout", shape, x.dtype)
        if function.reads_preout:
            output = run.lent("output", shape, x.dtype)
        rectifying = self.rectifying_kernels if function is RELU else None
        back = self._convolve(rectifying or self.kernels, run, x, window, preout)
        if rectifying is None:
            activate(run, function, preout, output)
        if series is not None:
            output *= kept
        activated_back = way_through(run, function, preout, output)

        def backward(grad_out: FloatArray) -> FloatArray | None:
            if series is not None:
                masked = run.lent_like("masked", grad_out)
                array_namespace(grad_out).multiply(grad_out, kept, out=masked)
                grad_out = masked
            grad_x = back(activated_back(grad_out))
            return grad_x if series is None or grad_x is None else series.leave(grad_x)

        return output, backward

    def _convolve(
        self, kernels: KernelPair, run: Run, x: FloatArray, window: Window, out: Any
    ) -> Backward:
        """Overwrite `out` with the pre-activations; return the way back."""
        forward, backward = kernels
        weight = run.params["W"]
        forward(x, weight, run.params.get("b"), window, run.workspace, out=out)

        def back(grad_out: FloatArray) -> FloatArray | None:
            grad_x: FloatArray | None = backward(
                *(grad_out, x, weight, window, run.workspace),
                grad_weight=run.gradients["W"],
                grad_bias=run.gradients.get("b"),
                grad_x=grad_buffer(run, x),
            )
            return grad_x

        return back

    def feed_forward_mask(self, run: Run, mask: FloatArray | None) -> FloatArray | None:
        """Return the mask of the windows, if it is one of single cells.

        That is (batch, *axes) or (batch, *axes, 1) and becomes (batch, *window.out)
        with as many axes, 1 where a window sees a kept cell. Masks of examples, of
        shape (batch, 1), go on as they are.
        """
        if mask is None or mask.ndim < self.n_axes + 1:
            return mask
        if not self.drops_masked_steps:
            return window_mask(mask, self, run)
        return MaskedSeries(self, run).window_mask(mask, self.window(mask.shape[1:]))

    @property
    def drops_masked_steps(self) -> bool:
        """Whether this is a layer of series whose masks count."""
        ignored = "series_convolutions_ignore_masks" in self.quirks
        return self.n_axes == 1 and not ignored


if TYPE_CHECKING:
    # As in nn.conf.layer: what a group behind another may count on.
    ConvolvingGroup = ConvolvingConf
else:
    ConvolvingGroup = Conf


class Convolution2D(ConvolvingConf, WeightOptions, TrainingOptions, LayerConf):
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
    """

    can_be_cut: ClassVar[bool] = True

    type: Literal["convolution2d"] = "convolution2d"
    kernel_size: CountPair = Field(default=(5, 5), kw_only=False)
    stride: CountPair = (1, 1)
    padding: IndexPair = (0, 0)
    dilation: CountPair = (1, 1)
    convolution_mode: ConvolutionModeName = "truncate"

    rectifying_kernels: ClassVar[KernelPair | None] = (
        partial(convolution_forward, rectifies=True),
        convolution_backward,
    )

    def can_take_over(self, work: Work) -> bool:
        """Return whether at most a rectifier is in front of a pooling, or nothing."""
        if work == "pooling" and self.function is RELU:
            return True
        return work != "sums" and self.function is IDENTITY

    def forward(self, run: Run, x: FloatArray) -> tuple[FloatArray, Backward]:
        """Convolve images `x`, of shape (batch, height, width, n_in).

        It can take over the maximum pooling behind it, and in inference a
        normalization, see :mod:`daskdl.nn.fusion`.
        """
        if run.fused.scaling_of is not None and not run.training:
            return self._scaled(run, x, run.fused.scaling_of()), _refuse
        if run.fused.pool_on is None:
            return super().forward(run, x)
        weight, window = run.params["W"], self.window(x.shape[1:-1])
        pool = run.fused.pool_on(window.out)
        windows = PooledWindows(window, pool, self.function is RELU)
        shape = (x.shape[0], *pool.out, self.n_out)
        output = run.lent("output", shape, x.dtype)
        winner = run.lent("winner", shape, x.dtype)
        bias, workspace = run.params.get("b"), run.workspace
        pooled_convolution_forward(
            x, weight, bias, windows, workspace, out=output, winner=winner
        )

        def backward(grad_out: FloatArray) -> FloatArray | None:
            return pooled_convolution_backward(
                *(grad_out, x, weight, windows, workspace),
                output=output,
                winner=winner,
                grad_weight=run.gradients["W"],
                grad_bias=run.gradients.get("b"),
                grad_x=grad_buffer(run, x),
            )

        return output, backward

    def _scaled(self, run: Run, x: FloatArray, scaling: Scaling) -> FloatArray:
        """Return the normalized output: the weights take the factors."""
        window, given = self.window(x.shape[1:-1]), run.params["W"]
        weight = run.like("scaled", given)
        array_namespace(x).multiply(given, scaling.scale, out=weight)
        shift = scaling.shift
        if "b" in run.params:
            shift = shift + run.params["b"] * scaling.scale
        out = run.lent("preout", (x.shape[0], *window.out, self.n_out), x.dtype)
        return convolution_forward(
            *(x, weight, shift, window, run.workspace),
            rectifies=scaling.rectifies,
            out=out,
        )


class Convolution1D(ConvolvingConf, WeightOptions, TrainingOptions, LayerConf):
    """A convolution over time steps (cross-correlation, as everywhere).

    Parameters
    ----------
    kernel_size, stride, dilation : int
        Time steps.
    padding : int
        Steps of zeros on both sides; not used by modes ``same`` and ``causal``.
    convolution_mode : {"truncate", "same", "strict", "causal"}
        As for :class:`Convolution2D`; ``causal`` pads in front only, so that no output
        sees a later step.
    has_bias : bool
        Whether a bias is added.

    Notes
    -----
    What a mask drops counts as 0, and windows that a series does not have come out as 0
    and send no gradient.
    """

    ignores_weight_noise: ClassVar[bool] = True
    can_be_cut: ClassVar[bool] = True

    type: Literal["convolution1d"] = "convolution1d"
    kernel_size: CountSingle
    stride: CountSingle = (1,)
    padding: IndexSingle = (0,)
    dilation: CountSingle = (1,)
    convolution_mode: SeriesConvolutionModeName = "truncate"

    def parameters(self, input_type: InputType) -> tuple[Parameter, ...]:
        """Return W (kernel, n_in, n_out) and b (n_out,)."""
        (kernel,), n_in = self.kernel_size, self.inferred_n_in(input_type)
        # DL4J reads the numbers of its (n_out, n_in, kernel, 1) as if they lay in the
        # order of (kernel, n_in, n_out): it reshapes where it should swap axes.
        shape = (self.n_out, n_in, kernel, 1)
        weight = Parameter("W", (kernel, n_in, self.n_out), file_shape=shape, order="c")
        return (weight, *self.bias_parameters())

    def forward(self, run: Run, x: FloatArray) -> tuple[FloatArray, Backward]:
        """Convolve series `x`, of shape (batch, time, n_in).

        Where masks are ignored, they are reduced to the windows and pass by. Inside a
        wrapper that asks for it, windows without a kept step come out as 0 even there,
        and send a gradient all the same.
        """
        output, backward = super().forward(run, x)
        mask = run.mask
        if mask is None or not run.uses_mask or self.drops_masked_steps:
            return output, backward
        check_step_mask(mask, x, run.who)
        # The gradient does not know of the mask, so it keeps the output.
        masked = run.lent_like("masked output", output)
        of_windows = window_mask(mask, self, run)[:, :, None]
        array_namespace(output).multiply(output, of_windows, out=masked)
        return masked, backward


class Convolution3D(ConvolvingConf, WeightOptions, TrainingOptions, LayerConf):
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

    can_be_cut: ClassVar[bool] = True

    type: Literal["convolution3d"] = "convolution3d"
    kernel_size: CountTriple = (2, 2, 2)
    stride: CountTriple = (1, 1, 1)
    padding: IndexTriple = (0, 0, 0)
    dilation: CountTriple = (1, 1, 1)
    convolution_mode: ConvolutionModeName = "truncate"


def grad_buffer(run: Run, x: FloatArray) -> FloatArray | None:
    """Return an array like `x`, of any shape, for its gradient, if anybody reads it."""
    return run.lent_like("grad_x", x) if run.needs_grad_x else None


def _refuse(grad_out: FloatArray) -> NoReturn:
    raise ShapeError(
        "Convolution2D: backward must follow forward in training: the normalization "
        "behind it was done by its weights."
    )
