"""The pooling layer for images."""

from typing import Literal

import numpy as np

from daskdl.arrays.namespace import FloatArray
from daskdl.arrays.workspace import Workspace
from daskdl.kernels.window import Window
from daskdl.nn.conf.input_type import InputType
from daskdl.nn.conf.values import CountPair, IndexPair
from daskdl.nn.layers.layer import works_for
from daskdl.nn.layers.pooling import PoolingLayer, SubsamplingConf
from daskdl.nn.layers.window_masks import window_mask
from daskdl.nn.layers.windows import window_of


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
    """

    type: Literal["subsampling"] = "subsampling"
    kernel_size: CountPair = (2, 2)
    stride: CountPair = (2, 2)
    padding: IndexPair = (0, 0)
    dilation: CountPair = (1, 1)


@works_for(Subsampling)
class SubsamplingLayer(PoolingLayer[Subsampling]):
    """Maximum, sum, average or p-norm of each window of an image.

    Where the layer in front does it already, see :mod:`daskdl.nn.fusion`, arrays are
    handed through.
    """

    def __init__(
        self, conf: Subsampling, input_type: InputType, name: str, workspace: Workspace
    ) -> None:
        super().__init__(conf, input_type, name, workspace)
        self._is_done_before = False

    @property
    def is_plain_maximum(self) -> bool:
        """Whether its windows cover whole places, each one once, and take the maximum.

        Some at the end may be left over.
        """
        conf = self.conf
        is_side_by_side = conf.kernel_size == conf.stride
        is_within = conf.padding == (0, 0) and conf.convolution_mode != "same"
        is_plain = conf.pooling_type == "max" and conf.dilation == (1, 1)
        return is_plain and is_side_by_side and is_within

    def window_on(self, sizes: tuple[int, ...]) -> Window:
        """Return where the window lies on images of these sizes."""
        return window_of(self.conf, sizes)

    def leave_to_source(self) -> None:
        """Hand arrays through from now on."""
        self._is_done_before = True

    def forward(
        self,
        x: FloatArray,
        *,
        training: bool,
        mask: FloatArray | None = None,
        rng: np.random.Generator | None = None,
    ) -> FloatArray:
        """Compute the output, (batch, *window.out, channels).

        See :meth:`Layer.forward`.
        """
        if self._is_done_before:
            return x
        return super().forward(x, training=training, mask=mask, rng=rng)

    def backward(self, grad_out: FloatArray) -> FloatArray:
        """Compute the gradient; see :meth:`Layer.backward`."""
        if self._is_done_before:
            return grad_out
        return super().backward(grad_out)

    def feed_forward_mask(self, mask: FloatArray | None) -> FloatArray | None:
        """Return the mask of the windows, if it is one of pixels.

        That is (batch, *axes, 1) and becomes (batch, *window.out, 1). A mask of whole
        images, (batch, 1), goes on as it is.
        """
        if mask is None or mask.ndim < 4:
            return mask
        return window_mask(mask, self.conf, self.name, self._workspace)
