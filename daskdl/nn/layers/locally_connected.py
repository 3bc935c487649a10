"""The locally connected layers: convolutions with weights for each window."""

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Literal

from daskdl.arrays.namespace import FloatArray
from daskdl.kernels.locally_connected import (
    locally_connected_backward,
    locally_connected_forward,
)
from daskdl.kernels.window import Window
from daskdl.nn.activations.function import ActivationFunction
from daskdl.nn.activations.table import activation_function
from daskdl.nn.conf.activations import AnyActivation
from daskdl.nn.conf.axes import with_shape
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.input_type import InputType
from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.conf.names import ConvolutionModeName
from daskdl.nn.conf.options import TrainingOptions, WeightOptions
from daskdl.nn.conf.parameters import Parameter
from daskdl.nn.conf.values import CountPair, CountSingle, IndexPair, IndexSingle
from daskdl.nn.layers.convolution import ConvolvingConf, ConvolvingGroup, KernelPair
from daskdl.nn.layers.input_kinds import Sized
from daskdl.nn.layers.same_diff import sd_activation, sd_defaults, sd_parameter
from daskdl.nn.layers.windows import Counts
from daskdl.nn.run import Backward, Run


class LocallyConnectingConf(ConvolvingGroup):
    """A layer with weights for each window; see its kinds for the options."""

    takes_network_dropout: ClassVar[bool] = False
    ignores_weight_noise: ClassVar[bool] = True
    counts_gradient_twice: ClassVar[bool] = True

    kernels: ClassVar[KernelPair] = (
        locally_connected_forward,
        locally_connected_backward,
    )

    activation: AnyActivation | None = "tanh"
    convolution_mode: ConvolutionModeName = "same"
    input_size: Counts | None = None

    def filled(
        self, defaults: Mapping[str, Any], input_type: InputType, name: str
    ) -> LayerConf:
        """Return a copy with nothing left open."""
        return super().filled(sd_defaults(self, defaults), input_type, name)

    def parameters(self, input_type: InputType) -> tuple[Parameter, ...]:
        """Return W ``(n_windows, n_in, *kernel, n_out)`` and b (n_out,)."""
        n_in = self.inferred_n_in(input_type)
        sizes = self.sizes_after(self.entering(input_type).shape[:-1])
        n_windows = math.prod(size for size in sizes if size is not None)
        n_cells = math.prod(self.kernel_size)
        weight = sd_parameter(
            "W",
            (n_windows, n_in, *self.kernel_size, self.n_out),
            file_shape=(n_windows, n_in * n_cells, self.n_out),
        )
        return (weight, *self.bias_parameters())

    def bias_parameters(self) -> tuple[Parameter, ...]:
        """Return b (n_out,), if there is one."""
        return (sd_parameter("b", (self.n_out,), "bias"),) if self.has_bias else ()

    def file_order(self, input_type: InputType) -> tuple[str, ...]:
        """Return the weights first, unlike other convolutions."""
        return ("W", "b") if self.has_bias else ("W",)

    def entering(self, input_type: InputType) -> Sized:
        """Return the series, images or volumes that come in, `input_size` large.

        Raises
        ------
        OptionError
            If their size is neither known nor given, or is another one.
        """
        entered = super().entering(input_type)
        sizes = entered.shape[:-1]
        given = self.input_size or sizes
        if None in given:
            raise PathError(
                "must be given, because there are weights for each window and "
                f"{entered} may have any size, got None. Or give the size of the "
                "network's input.",
                "input_size",
            )
        if any(size not in (None, own) for size, own in zip(sizes, given, strict=True)):
            raise PathError(
                f"must be the size of what comes in, {entered}, got {given}. "
                "Leave it out.",
                "input_size",
            )
        return with_shape(entered, (*given, entered.shape[-1]))

    def fans(self, parameter: Parameter) -> tuple[float, float]:
        """Return the fans of a convolution."""
        _, n_in, *_, n_out = parameter.shape
        return self.fans_of(n_in, n_out)

    @property
    def function(self) -> ActivationFunction:
        """The activation."""
        activation = sd_activation(self.activation or "identity", self.quirks)
        return activation_function(activation, self.quirks)

    def window(self, sizes: tuple[int, ...]) -> Window:
        """Return where the window lies for an input of these sizes."""
        window = super().window(sizes)
        if "locally_connected_ignores_dilation" not in self.quirks:
            return window
        return Window(*(replace(axis, dilation=1) for axis in window.axes))

    def _convolve(
        self, kernels: KernelPair, run: Run, x: FloatArray, window: Window, out: Any
    ) -> Backward:
        by_column = "locally_connected_windows_by_column" in self.quirks
        forward, backward = (partial(each, by_column=by_column) for each in kernels)
        back = super()._convolve((forward, backward), run, x, window, _places(out))
        return lambda grad_out: back(_places(grad_out))


class LocallyConnected1D(
    LocallyConnectingConf, ConvolvingConf, WeightOptions, TrainingOptions, LayerConf
):
    """A convolution over time steps with weights for each window.

    The series must all have the same, known number of time steps. Shorter ones have
    masks: what these drop counts as 0, and windows that a series does not have come out
    as 0.

    Parameters
    ----------
    kernel_size, stride : int
        Time steps.
    padding : int
        Steps of zeros on both sides; not used by mode ``same``.
    dilation : int
        Time steps from one cell of a window to the next.
    input_size : int, optional
        Inferred from the input, unless that leaves it open.
    convolution_mode : {"same", "truncate", "strict"}
        As for :class:`Convolution1D`.
    activation : str or activation
        By default tanh, whatever the network says.
    has_bias : bool
        Whether a bias is added, the same for all windows.
    """

    can_be_cut: ClassVar[bool] = True

    type: Literal["locally_connected1d"] = "locally_connected1d"
    kernel_size: CountSingle = (2,)
    stride: CountSingle = (1,)
    padding: IndexSingle = (0,)
    dilation: CountSingle = (1,)
    input_size: CountSingle | None = None


class LocallyConnected2D(
    LocallyConnectingConf, ConvolvingConf, WeightOptions, TrainingOptions, LayerConf
):
    """A two-dimensional convolution with weights for each window.

    The images must all have the same, known size.

    Parameters
    ----------
    kernel_size, stride : (int, int) or int
        Height and width; one number means both.
    padding : (int, int) or int
        Zeros on both sides; not used by mode ``same``.
    dilation : (int, int) or int
        Pixels from one cell of a window to the next.
    input_size : (int, int) or int, optional
        Inferred from the input, unless that leaves it open.
    convolution_mode : {"same", "truncate", "strict"}
        As for :class:`Convolution2D`.
    activation : str or activation
        By default tanh, whatever the network says.
    has_bias : bool
        Whether a bias is added, the same for all windows.
    """

    can_be_cut: ClassVar[bool] = True

    type: Literal["locally_connected2d"] = "locally_connected2d"
    kernel_size: CountPair = (2, 2)
    stride: CountPair = (1, 1)
    padding: IndexPair = (0, 0)
    dilation: CountPair = (1, 1)
    input_size: CountPair | None = None


def _places(array: FloatArray) -> FloatArray:
    """Return (batch, *windows, n_out) as (batch, n_windows, n_out)."""
    n_windows = math.prod(array.shape[1:-1])
    return array.reshape(array.shape[0], n_windows, array.shape[-1])
