"""What all convolutions share: weights under a window, and an activation behind."""

import math
from collections.abc import Callable
from typing import TypeAlias, TypeVar

import numpy as np

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.arrays.workspace import Workspace
from daskdl.kernels.conv import convolution_backward, convolution_forward
from daskdl.kernels.window import Window
from daskdl.nn.activations.identity import IDENTITY
from daskdl.nn.activations.rectifiers import RELU
from daskdl.nn.activations.table import activation_function
from daskdl.nn.conf.activations import AnyActivation
from daskdl.nn.conf.axes import with_shape
from daskdl.nn.conf.input_type import InputType, features_of
from daskdl.nn.conf.layer import WeightLayerConf
from daskdl.nn.conf.names import SeriesConvolutionModeLiteral
from daskdl.nn.conf.parameters import Parameter
from daskdl.nn.layers.entering import Sized, entering
from daskdl.nn.layers.layer import Layer
from daskdl.nn.layers.masked_series import MaskedSeries
from daskdl.nn.layers.softmax_axis import as_activated
from daskdl.nn.layers.window_masks import window_mask
from daskdl.nn.layers.windows import Counts, Indices, window_of, window_sizes
from daskdl.nn.masks import check_step_mask


class ConvolvingConf(WeightLayerConf):
    """A layer with weights under a window; see its kinds for the options."""

    kernel_size: Counts
    stride: Counts
    padding: Indices
    dilation: Counts
    convolution_mode: SeriesConvolutionModeLiteral = "truncate"
    has_bias: bool = True

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


K = TypeVar("K", bound=ConvolvingConf)
KernelPair: TypeAlias = tuple[
    Callable[..., FloatArray], Callable[..., FloatArray | None]
]


class ConvolvingLayer(Layer[K]):
    """``activation(what the weights make of the windows, plus b)``.

    By itself a cross-correlation; its kinds may do other things with their weights.
    """

    _kernels: KernelPair = (convolution_forward, convolution_backward)

    def __init__(
        self, conf: K, input_type: InputType, name: str, workspace: Workspace
    ) -> None:
        super().__init__(conf, input_type, name, workspace)
        self._activation = activation_function(self._activation_taken(), conf.quirks)
        is_series = conf.n_axes == 1
        self._series: MaskedSeries | None = None
        if is_series and "series_convolutions_ignore_masks" not in conf.quirks:
            self._series = MaskedSeries(conf, name, workspace)
        self._kept: FloatArray | None = None

    def initialize(self, rng: np.random.Generator) -> None:
        """Draw W by its fans; every bias is `bias_init`.

        The fans are n_in * kernel cells, and n_out * kernel cells / stride cells.
        """
        self._draw("W", *self._fans(), rng)
        if "b" in self.params:
            self.params["b"].fill(self._given("bias_init", self.conf.bias_init))

    def forward(
        self,
        x: FloatArray,
        *,
        training: bool,
        mask: FloatArray | None = None,
        rng: np.random.Generator | None = None,
    ) -> FloatArray:
        """Compute the output, (batch, *output_type.shape); see :meth:`Layer.forward`.

        What a mask drops of series counts as 0, and windows that a series does not
        have come out as 0. Masks of images and volumes only pass by.
        """
        self._check_input(x)
        self._x = x
        self._window = self._window_on(x.shape[1:-1])
        self._kept = None
        if mask is not None and self._series is not None:
            check_step_mask(mask, x, self.who)
            self._kept = self._series.window_mask(mask, self._window)
            self._x, self._window = self._series.enter(x, mask, self._window)
        shape = (x.shape[0], *self._out_sizes(), self.output_type.shape[-1])
        self._preout = self._buffer("preout", shape, x.dtype)
        self._convolve(self._preout)
        self._activate(rng if training else None)
        if self._kept is not None:
            self._output *= self._kept[:, :, None]
        return self._output

    def backward(self, grad_out: FloatArray) -> FloatArray | None:
        """Compute the gradients; see :meth:`Layer.backward`."""
        if self._kept is not None:
            masked = self._like("masked", grad_out)
            kept = self._kept[:, :, None]
            grad_out = array_namespace(grad_out).multiply(grad_out, kept, out=masked)
        grad_preout = grad_out
        if self._activation.name != "identity":
            grad_preout = self._like("grad_preout", self._output)
            self._activation.backward(
                *map(self._as_activated, (grad_out, self._preout, self._output)),
                out=self._as_activated(grad_preout),
            )
        grad_x = self._like("grad_x", self._x) if self.needs_grad_x else None
        grad_x = self._convolve_back(grad_preout, grad_x)
        if grad_x is None or self._kept is None or self._series is None:
            return grad_x
        return self._series.leave(grad_x)

    def feed_forward_mask(self, mask: FloatArray | None) -> FloatArray | None:
        """Return the mask of the windows, if it is one of single cells.

        Parameters
        ----------
        mask : ndarray of shape (batch, *axes) or (batch, *axes, 1), or None
            Masks of examples, of shape (batch, 1), go on as they are.

        Returns
        -------
        ndarray of shape (batch, *window.out), with the last axis of `mask`, or None
            1 where a window sees a kept cell.
        """
        if mask is None or mask.ndim < self.conf.n_axes + 1:
            return mask
        if self._series is not None:
            return self._series.window_mask(mask, self._window_on(mask.shape[1:]))
        return window_mask(mask, self.conf, self.name, self._workspace)

    def rectify(self) -> bool:
        """Take a rectifier for the activation, if there is none."""
        if self._activation is not IDENTITY:
            return False
        self._activation = RELU
        return True

    def _activation_taken(self) -> AnyActivation:
        """Return the activation of the configuration."""
        activation: AnyActivation = self._given("activation", self.conf.activation)
        return activation

    def _as_activated(self, array: FloatArray) -> FloatArray:
        """Return a view of the output with the axis last that a softmax works along."""
        quirks = self.conf.quirks
        return as_activated(array, self._activation, self.input_type, quirks)

    def _activate(self, rng: np.random.Generator | None) -> None:
        """Make the output of the pre-activations."""
        reads_preout = self._activation.reads_preout
        self._output = (
            self._like("output", self._preout) if reads_preout else self._preout
        )
        self._activation.forward(
            self._as_activated(self._preout),
            out=self._as_activated(self._output),
            rng=rng,
        )

    def _fans(self) -> tuple[float, float]:
        n_in = features_of(self.input_type)
        return self._fan(n_in), self._fan(self.conf.n_out) / math.prod(self.conf.stride)

    def _fan(self, n: int) -> float:
        return n * math.prod(self.conf.kernel_size)

    def _window_on(self, sizes: tuple[int, ...]) -> Window:
        """Return where the window lies for an input of these sizes."""
        return window_of(self.conf, sizes)

    def _out_sizes(self) -> tuple[int, ...]:
        """Return the sizes of the output under the window of the last input."""
        return self._window.out

    def _convolve(self, out: FloatArray) -> None:
        """Overwrite `out` with the pre-activations."""
        forward, _ = self._kernels
        forward(
            self._x,
            self.params["W"],
            self.params.get("b"),
            self._window,
            self._workspace,
            out=out,
        )

    def _convolve_back(
        self, grad_preout: FloatArray, grad_x: FloatArray | None
    ) -> FloatArray | None:
        """Write the gradients; return that in the input, which is `grad_x`."""
        _, backward = self._kernels
        return backward(
            grad_preout,
            self._x,
            self.params["W"],
            self._window,
            self._workspace,
            grad_weight=self.gradients["W"],
            grad_bias=self.gradients.get("b"),
            grad_x=grad_x,
        )
