"""The convolution layer for time series."""

from typing import ClassVar, Literal

import numpy as np

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.arrays.workspace import Workspace
from daskdl.nn.conf.input_type import InputType
from daskdl.nn.conf.names import SeriesConvolutionModeName
from daskdl.nn.conf.parameters import Parameter
from daskdl.nn.conf.values import CountSingle, IndexSingle
from daskdl.nn.layers.convolving import ConvolvingConf, ConvolvingLayer
from daskdl.nn.layers.layer import works_for
from daskdl.nn.layers.window_masks import window_mask
from daskdl.nn.masks import check_step_mask


class Convolution1D(ConvolvingConf):
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


@works_for(Convolution1D)
class Convolution1DLayer(ConvolvingLayer[Convolution1D]):
    """``activation(cross-correlation of x with W, plus b)`` of time series.

    Where masks are ignored, they are reduced to the windows and pass by. Inside a
    wrapper that asks for it, windows without a kept step come out as 0 even there, and
    send a gradient all the same.
    """

    def __init__(
        self,
        conf: Convolution1D,
        input_type: InputType,
        name: str,
        workspace: Workspace,
    ) -> None:
        super().__init__(conf, input_type, name, workspace)
        self._uses_mask = False

    def use_mask(self) -> None:
        """Drop the windows that the mask drops from now on."""
        self._uses_mask = self._series is None

    def forward(
        self,
        x: FloatArray,
        *,
        training: bool,
        mask: FloatArray | None = None,
        rng: np.random.Generator | None = None,
    ) -> FloatArray:
        """Compute the output, (batch, windows, n_out); see :meth:`Layer.forward`."""
        output = super().forward(x, training=training, mask=mask, rng=rng)
        if mask is None or not self._uses_mask:
            return output
        check_step_mask(mask, x, self.who)
        # The gradient does not know of the mask, so it keeps the output.
        masked = self._like("masked", output)
        of_windows = window_mask(mask, self.conf, self.name, self._workspace)
        array_namespace(output).multiply(output, of_windows[:, :, None], out=masked)
        return masked
