"""The pooling layer for time series."""

import math
from typing import Literal

import numpy as np

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.arrays.workspace import Workspace
from daskdl.kernels.window import Window
from daskdl.nn.conf.input_type import InputType
from daskdl.nn.conf.values import CountSingle, IndexSingle
from daskdl.nn.layers.layer import works_for
from daskdl.nn.layers.masked_series import MaskedSeries
from daskdl.nn.layers.pooling import Pooling, PoolingLayer, SubsamplingConf
from daskdl.nn.layers.window_masks import window_mask
from daskdl.nn.layers.windows import window_of
from daskdl.nn.masks import check_step_mask


class Subsampling1D(SubsamplingConf):
    """Pooling over windows of time steps.

    Parameters
    ----------
    pooling_type : {"max", "avg", "sum", "pnorm"}
        What a window becomes. ``max`` ignores padding.
    kernel_size, stride, dilation, padding : int
        Time steps.
    convolution_mode, pnorm, eps, include_padding
        As for :class:`Subsampling`.

    Notes
    -----
    What a mask drops counts like padding, and windows that a series does not have come
    out as 0.
    """

    type: Literal["subsampling1d"] = "subsampling1d"
    kernel_size: CountSingle = (2,)
    stride: CountSingle = (1,)
    padding: IndexSingle = (0,)
    dilation: CountSingle = (1,)


@works_for(Subsampling1D)
class Subsampling1DLayer(PoolingLayer[Subsampling1D]):
    """Maximum, sum, average or p-norm of each window of time steps.

    Where masks are ignored, they are reduced to the windows and pass by. Inside a
    wrapper that asks for it, windows without a kept step come out as 0 even there.
    """

    def __init__(
        self,
        conf: Subsampling1D,
        input_type: InputType,
        name: str,
        workspace: Workspace,
    ) -> None:
        super().__init__(conf, input_type, name, workspace)
        self._uses_mask = False
        self._kept: FloatArray | None = None
        self._counts: FloatArray | None = None
        self._series: MaskedSeries | None = None
        if "subsampling1d_ignores_masks" not in conf.quirks:
            self._series = MaskedSeries(conf, name, workspace)

    def use_mask(self) -> None:
        """Drop the windows that the mask drops from now on."""
        self._uses_mask = True

    def forward(
        self,
        x: FloatArray,
        *,
        training: bool,
        mask: FloatArray | None = None,
        rng: np.random.Generator | None = None,
    ) -> FloatArray:
        """Compute the output, (batch, windows, n_in); see :meth:`Layer.forward`."""
        self._kept = self._counts = None
        if mask is None or not (self._series or self._uses_mask):
            return super().forward(x, training=training, mask=mask, rng=rng)
        self._check_input(x)
        check_step_mask(mask, x, self.who)
        kept = self._kept = self._of_windows(mask)
        window = window_of(self.conf, x.shape[1:-1])
        output: FloatArray
        if self._series is None:
            output = self._pool(x, window, self.conf.pooling)
        else:
            output = self._pool_kept(self._series, x, mask, window)
        array_namespace(x).copyto(output, 0, where=kept[:, :, None] == 0)
        return output

    def backward(self, grad_out: FloatArray) -> FloatArray:
        """Compute the gradient; see :meth:`Layer.backward`."""
        if self._kept is None:
            return super().backward(grad_out)
        xp = array_namespace(grad_out)
        masked = self._like("masked", grad_out)
        xp.multiply(grad_out, self._kept[:, :, None], out=masked)
        if self._counts is not None:
            masked /= self._counts
        grad_series = super().backward(masked)
        return self._series.leave(grad_series) if self._series else grad_series

    def feed_forward_mask(self, mask: FloatArray | None) -> FloatArray | None:
        """Return the mask (batch, n_windows) of the windows of a series."""
        return None if mask is None else self._of_windows(mask)

    def _of_windows(self, mask: FloatArray) -> FloatArray:
        if self._series is None:
            return window_mask(mask, self.conf, self.name, self._workspace)
        return self._series.window_mask(mask, window_of(self.conf, mask.shape[1:]))

    def _pool_kept(
        self, series: MaskedSeries, x: FloatArray, mask: FloatArray, window: Window
    ) -> FloatArray:
        """Pool series over the steps that the mask keeps."""
        pooling = self.conf.pooling
        lowest = -math.inf if pooling.kind == "max" else 0.0
        placed, under = series.enter(x, mask, window, fill=lowest)
        if pooling.kind != "avg" or pooling.include_padding:
            return self._pool(placed, under, pooling)
        # An average is of the steps that are kept, whose number differs by series.
        self._counts = series.counts(mask, window)
        output = self._pool(placed, under, Pooling("sum"))
        output /= self._counts
        return output
