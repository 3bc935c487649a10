"""The pooling layer for images."""

from typing import Literal

from daskdl.arrays.namespace import FloatArray
from daskdl.nn.conf.values import CountPair, IndexPair
from daskdl.nn.layers.pooling import PoolingLayer, SubsamplingConf
from daskdl.nn.layers.window_masks import window_mask


class Subsampling(SubsamplingConf):
    """Pooling over windows of an image.

    Parameters
    ----------
    pooling_type : {"max", "avg", "sum", "pnorm"}
        What a window becomes. ``max`` ignores padding.
    kernel_size, stride, dilation, padding, convolution_mode
        As for :class:`Convolution2D`.
    pnorm : int
        Exponent of ``pnorm``, ``(sum |x|^p)^(1/p)``; needed by it alone.
    eps : float
        Least norm that a gradient of ``pnorm`` is divided by.
    include_padding : bool
        Whether ``avg`` divides by the window's size also where it hangs over the
        border, instead of by the cells inside.

    References
    ----------
    DL4J's `SubsamplingLayer`, whose ``SUM`` throws.
    """

    type: Literal["subsampling"] = "subsampling"
    kernel_size: CountPair = (2, 2)
    stride: CountPair = (2, 2)
    padding: IndexPair = (0, 0)
    dilation: CountPair = (1, 1)


class SubsamplingLayer(PoolingLayer[Subsampling]):
    """Maximum, sum, average or p-norm of each window of an image."""

    def feed_forward_mask(self, mask: FloatArray | None) -> FloatArray | None:
        """Return the mask of the windows, if it is one of pixels."""
        if mask is None or mask.ndim < 4:
            return mask
        return window_mask(mask, self.conf, self.name, self._workspace)
