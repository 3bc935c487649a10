"""What all convolutions share: weights under a window, and an activation behind."""

import math
from collections.abc import Callable
from typing import ClassVar, TypeAlias

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.kernels.conv import convolution_backward, convolution_forward
from daskdl.kernels.window import Window
from daskdl.nn.activations.function import ActivationFunction
from daskdl.nn.activations.identity import IDENTITY
from daskdl.nn.activations.rectifiers import RELU
from daskdl.nn.activations.table import activation_function
from daskdl.nn.conf.axes import with_shape
from daskdl.nn.conf.input_type import InputType, features_of
from daskdl.nn.conf.layer import WeightLayerConf
from daskdl.nn.conf.names import SeriesConvolutionModeLiteral
from daskdl.nn.conf.parameters import Parameter
from daskdl.nn.layers.activation import activate, activate_backward
from daskdl.nn.layers.entering import Sized, entering
from daskdl.nn.layers.masked_series import MaskedSeries
from daskdl.nn.layers.window_masks import window_mask
from daskdl.nn.layers.windows import Counts, Indices, window_of, window_sizes
from daskdl.nn.masks import check_step_mask
from daskdl.nn.run import Backward, Run, Work

ConvolvedBackward: TypeAlias = Callable[..., FloatArray | None]
KernelPair: TypeAlias = tuple[Callable[..., FloatArray], ConvolvedBackward]


class ConvolvingConf(WeightLayerConf):
    """A layer with weights under a window; see its kinds for the options."""

    kernel_size: Counts
    stride: Counts
    padding: Indices
    dilation: Counts
    convolution_mode: SeriesConvolutionModeLiteral = "truncate"
    has_bias: bool = True

    # What makes pre-activations of windows and weights, and takes the gradient back.
    kernels: ClassVar[KernelPair] = (convolution_forward, convolution_backward)
    # Whether the first one can rectify as it writes.
    kernel_rectifies: ClassVar[bool] = False

    @property
    def n_axes(self) -> int:
        """1 for series, 2 for images, 3 for volumes."""
        return len(self.kernel_size)

    def entering(self, input_type: InputType) -> Sized:
        """Return the series, images or volumes that come in; refuse other things."""
        return entering(self, input_type, self.n_axes)

    def inferred_n_in(self, input_type: InputType) -> int:
        """Return the number of channels that come in."""
        return self._agreed_n_in(features_of(self.entering(input_type)), input_type)

    def sizes_after(self, sizes: tuple[int | None, ...]) -> tuple[int | None, ...]:
        """Return the sizes that come out; what is unknown stays unknown."""
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
        return activation_function(self.activation or "identity", self.quirks)

    def forward(self, run: Run, x: FloatArray) -> tuple[FloatArray, Backward]:
        """Convolve `x`, of shape (batch, ..., n_in), and apply the activation.

        What a mask drops of series counts as 0, and windows that a series does not
        have come out as 0. Masks of images and volumes only pass by.
        """
        window, mask = self.window(x.shape[1:-1]), run.mask
        if mask is None or not self.drops_masked_steps:
            return self._activated(run, x, window)
        check_step_mask(mask, x, run.who)
        series = MaskedSeries(self, run)
        kept = series.window_mask(mask, window)[:, :, None]
        output, back = self._activated(run, *series.enter(x, mask, window))
        output *= kept

        def backward(grad_out: FloatArray) -> FloatArray | None:
            masked = run.buffer("masked", grad_out.shape, grad_out.dtype)
            array_namespace(grad_out).multiply(grad_out, kept, out=masked)
            grad_series = back(masked)
            return None if grad_series is None else series.leave(grad_series)

        return output, backward

    def convolve(
        self,
        run: Run,
        x: FloatArray,
        window: Window,
        out: FloatArray,
        **options: bool,
    ) -> ConvolvedBackward:
        """Overwrite `out` with the pre-activations, and return the way back.

        Parameters
        ----------
        run : Run
        x : ndarray of shape (batch, *window.sizes, n_in)
            Not changed, and read again by what is returned.
        window : Window
        out : ndarray of shape (batch, *sizes_under(window), n_out)
        **options : bool
            Of the kernel.

        Returns
        -------
        function of (gradient in `out`, array for that in `x` or None, options)
            Writes the gradients of the parameters, and returns that in `x`.
        """
        forward, backward = self.kernels
        weight = run.params["W"]
        forward(
            x, weight, run.params.get("b"), window, run.workspace, out=out, **options
        )

        def back(
            grad_out: FloatArray, grad_x: FloatArray | None, **options: bool
        ) -> FloatArray | None:
            return backward(
                grad_out,
                x,
                weight,
                window,
                run.workspace,
                grad_weight=run.gradients["W"],
                grad_bias=run.gradients.get("b"),
                grad_x=grad_x,
                **options,
            )

        return back

    def feed_forward_mask(self, run: Run, mask: FloatArray | None) -> FloatArray | None:
        """Return the mask of the windows, if it is one of single cells.

        Parameters
        ----------
        run : Run
        mask : ndarray of shape (batch, *axes) or (batch, *axes, 1), or None
            Masks of examples, of shape (batch, 1), go on as they are.

        Returns
        -------
        ndarray of shape (batch, *window.out), with the last axis of `mask`, or None
            1 where a window sees a kept cell.
        """
        if mask is None or mask.ndim < self.n_axes + 1:
            return mask
        if not self.drops_masked_steps:
            return window_mask(mask, self, run)
        return MaskedSeries(self, run).window_mask(mask, self.window(mask.shape[1:]))

    @property
    def drops_masked_steps(self) -> bool:
        """Whether this is a layer of series whose masks count."""
        return (
            self.n_axes == 1 and "series_convolutions_ignore_masks" not in self.quirks
        )

    def _activated(
        self, run: Run, x: FloatArray, window: Window
    ) -> tuple[FloatArray, Backward]:
        function = RELU if run.fused.rectifies else self.function
        shape = (x.shape[0], *self.sizes_under(window), self.n_out)
        preout = output = run.buffer("preout", shape, x.dtype)
        if function.reads_preout:
            output = run.buffer("output", shape, x.dtype)
        is_rectified = self.kernel_rectifies and function is RELU
        options = {"rectifies": True} if is_rectified else {}
        back = self.convolve(run, x, window, preout, **options)
        if not is_rectified:
            activate(run, function, preout, output)

        def backward(grad_out: FloatArray) -> FloatArray | None:
            grad_preout = activate_backward(run, function, grad_out, preout, output)
            grad_x = (
                run.buffer("grad_x", x.shape, x.dtype) if run.needs_grad_x else None
            )
            return back(grad_preout, grad_x)

        return output, backward
