"""The pooling layer for time series."""

from typing import Literal

import numpy as np

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.nn.conf.values import CountSingle, IndexSingle
from daskdl.nn.layers.pooling import PoolingLayer, SubsamplingConf
from daskdl.nn.layers.window_masks import window_mask
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
    A mask only passes by, reduced to the windows: what is in masked steps counts like
    the rest, as in DL4J. Inside a wrapper that asks for it, windows without a kept
    step come out as 0 and send no gradient.

    References
    ----------
    DL4J's `Subsampling1DLayer`.
    """

    type: Literal["subsampling1d"] = "subsampling1d"
    kernel_size: CountSingle = (2,)
    stride: CountSingle = (1,)
    padding: IndexSingle = (0,)
    dilation: CountSingle = (1,)


class Subsampling1DLayer(PoolingLayer[Subsampling1D]):
    """Maximum, sum, average or p-norm of each window of time steps."""

    _uses_mask = False

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
        """Compute the output; see :meth:`Layer.forward`."""
        output = super().forward(x, training=training, mask=mask, rng=rng)
        self._mask = None
        if mask is not None and self._uses_mask:
            check_step_mask(mask, x, self.who)
            self._mask = window_mask(mask, self.conf, self.name, self._workspace)
            output *= self._mask[:, :, None]
        return output

    def backward(self, grad_out: FloatArray) -> FloatArray:
        """Compute the gradient; see :meth:`Layer.backward`."""
        if self._mask is None:
            return super().backward(grad_out)
        masked = self._like("masked", grad_out)
        array_namespace(grad_out).multiply(grad_out, self._mask[:, :, None], out=masked)
        return super().backward(masked)

    def feed_forward_mask(self, mask: FloatArray | None) -> FloatArray | None:
        """Return the mask of the windows: 1 where a step of the window is kept."""
        if mask is None:
            return None
        return window_mask(mask, self.conf, self.name, self._workspace)
