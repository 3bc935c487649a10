"""The pooling layer for images."""

import numpy as np

from daskdl.arrays.namespace import FloatArray
from daskdl.arrays.workspace import Workspace
from daskdl.kernels.pooling import (
    average_pool_backward,
    average_pool_forward,
    max_pool_backward,
    max_pool_forward,
)
from daskdl.nn.conf.convolutional import Subsampling
from daskdl.nn.conf.input_type import InputType
from daskdl.nn.layers.layer import Layer
from daskdl.nn.layers.windows import window_of


class SubsamplingLayer(Layer[Subsampling]):
    """The maximum or the average of each window."""

    def __init__(
        self, conf: Subsampling, input_type: InputType, name: str, workspace: Workspace
    ) -> None:
        super().__init__(conf, input_type, name, workspace)
        self._window = window_of(conf, input_type)

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
