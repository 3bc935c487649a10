"""The pooling layer for images."""

from typing import Literal

import numpy as np

from daskdl.arrays.namespace import FloatArray
from daskdl.kernels.pooling import (
    average_pool_backward,
    average_pool_forward,
    max_pool_backward,
    max_pool_forward,
)
from daskdl.nn.conf.input_type import Convolutional, InputType
from daskdl.nn.conf.layer import (
    LayerConf,
)
from daskdl.nn.conf.names import (
    ConvolutionModeName,
    PoolingName,
)
from daskdl.nn.conf.values import (
    CountPair,
    IndexPair,
)
from daskdl.nn.layers.layer import Layer
from daskdl.nn.layers.windows import images_in, window_of, window_output


class Subsampling(LayerConf):
    """Pooling over windows of an image.

    Parameters
    ----------
    pooling_type : {"max", "avg"}
        What a window becomes. ``max`` ignores padding.
    kernel_size, stride, dilation, padding, convolution_mode
        As for :class:`Convolution2D`.
    include_padding : bool
        Whether ``avg`` divides by the window's size also where it hangs over the
        border, instead of by the cells inside.
    """

    type: Literal["subsampling"] = "subsampling"
    pooling_type: PoolingName = "max"
    kernel_size: CountPair = (2, 2)
    stride: CountPair = (2, 2)
    padding: IndexPair = (0, 0)
    dilation: CountPair = (1, 1)
    convolution_mode: ConvolutionModeName = "truncate"
    include_padding: bool = False

    def output_type(self, input_type: InputType) -> Convolutional:
        """Return smaller images of the same channels."""
        images = images_in(self, input_type)
        return images.replaced(**window_output(self, images))


class SubsamplingLayer(Layer[Subsampling]):
    """The maximum or the average of each window."""

    def forward(
        self,
        x: FloatArray,
        *,
        training: bool,
        mask: FloatArray | None = None,
        rng: np.random.Generator | None = None,
    ) -> FloatArray:
        """Compute the output; see :meth:`Layer.forward`. Masks only pass by."""
        self._check_input(x)
        self._x_shape = x.shape
        self._window = window_of(self.conf, x.shape[1:3])
        rows, columns = self._window.height.out, self._window.width.out
        shape = (x.shape[0], rows, columns, x.shape[3])
        out = self._buffer("output", shape, x.dtype)
        if self.conf.pooling_type == "avg":
            return average_pool_forward(
                x, self._window, include_padding=self.conf.include_padding, out=out
            )
        index_dtype = "uint8" if self._window.n_cells <= 256 else "uint32"
        self._winner = self._buffer("winner", shape, index_dtype)
        return max_pool_forward(
            x, self._window, self._workspace, out=out, winner=self._winner
        )

    def backward(self, grad_out: FloatArray) -> FloatArray:
        """Compute the gradient; see :meth:`Layer.backward`."""
        grad_x = self._buffer("grad_x", self._x_shape, grad_out.dtype)
        if self.conf.pooling_type == "avg":
            return average_pool_backward(
                grad_out,
                self._window,
                self._workspace,
                include_padding=self.conf.include_padding,
                grad_x=grad_x,
            )
        return max_pool_backward(
            grad_out, self._winner, self._window, self._workspace, grad_x=grad_x
        )
