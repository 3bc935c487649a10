"""What locally connected layers share: a convolution with weights for each window."""

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, TypeVar

from daskdl.arrays.namespace import FloatArray
from daskdl.arrays.workspace import Workspace
from daskdl.kernels.locally_connected import (
    locally_connected_backward,
    locally_connected_forward,
)
from daskdl.kernels.window import Window
from daskdl.nn.conf.activations import AnyActivation
from daskdl.nn.conf.axes import with_shape
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.input_type import InputType
from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.conf.names import ConvolutionModeName
from daskdl.nn.conf.parameters import Parameter
from daskdl.nn.layers.convolving import ConvolvingConf, ConvolvingLayer
from daskdl.nn.layers.entering import Sized
from daskdl.nn.layers.same_diff import sd_activation, sd_defaults, sd_parameter
from daskdl.nn.layers.windows import Counts


class LocallyConnectingConf(ConvolvingConf):
    """A layer with weights for each window; see its kinds for the options."""

    takes_network_dropout: ClassVar[bool] = False
    ignores_weight_noise: ClassVar[bool] = True
    counts_gradient_twice: ClassVar[bool] = True

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


L = TypeVar("L", bound=LocallyConnectingConf)


class LocallyConnectingLayer(ConvolvingLayer[L]):
    """``activation(each window @ its own W, plus b)``.

    W is drawn as for a convolution. Windows are counted row by row.
    """

    def __init__(
        self, conf: L, input_type: InputType, name: str, workspace: Workspace
    ) -> None:
        super().__init__(conf, input_type, name, workspace)
        by_column = "locally_connected_windows_by_column" in conf.quirks
        self._kernels = (
            partial(locally_connected_forward, by_column=by_column),
            partial(locally_connected_backward, by_column=by_column),
        )

    def _activation_taken(self) -> AnyActivation:
        return sd_activation(super()._activation_taken(), self.conf.quirks)

    def _window_on(self, sizes: tuple[int, ...]) -> Window:
        window = super()._window_on(sizes)
        if "locally_connected_ignores_dilation" not in self.conf.quirks:
            return window
        return Window(*(replace(axis, dilation=1) for axis in window.axes))

    def _convolve(self, out: FloatArray) -> None:
        super()._convolve(_places(out))

    def _convolve_back(
        self, grad_preout: FloatArray, grad_x: FloatArray | None
    ) -> FloatArray | None:
        return super()._convolve_back(_places(grad_preout), grad_x)


def _places(array: FloatArray) -> FloatArray:
    """Return (batch, *windows, n_out) as (batch, n_windows, n_out)."""
    n_windows = math.prod(array.shape[1:-1])
    return array.reshape(array.shape[0], n_windows, array.shape[-1])
