"""What the layers share that pool over windows of series, images or volumes."""

from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
from pydantic import Field, model_validator

from daskdl.arrays.namespace import FloatArray
from daskdl.kernels.pooling import (
    average_pool_backward,
    average_pool_forward,
    max_pool_backward,
    max_pool_forward,
    pnorm_pool_backward,
    pnorm_pool_forward,
    sum_pool_backward,
    sum_pool_forward,
)
from daskdl.kernels.window import Window
from daskdl.nn.conf.axes import with_shape
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.input_type import InputType
from daskdl.nn.conf.layer import DroppedLayerConf
from daskdl.nn.conf.names import ConvolutionModeName, PoolingName
from daskdl.nn.conf.values import Index, Positive
from daskdl.nn.layers.entering import Sized, entering
from daskdl.nn.layers.layer import Layer
from daskdl.nn.layers.windows import Counts, Indices, window_of, window_sizes


class Pooling(NamedTuple):
    """What a window becomes: kind, and what some of the kinds need."""

    kind: str
    exponent: int = 0
    eps: float = 0.0
    include_padding: bool = False


class PoolingConf(DroppedLayerConf):
    """A layer that pools over windows; see its kinds for the options."""

    kernel_size: Counts
    stride: Counts
    padding: Indices
    dilation: Counts
    convolution_mode: ConvolutionModeName = "truncate"

    @property
    def pooling(self) -> Pooling:
        """What a window becomes."""
        raise TypeError(f"{type(self).__name__} does not say how it pools.")

    def output_type(self, input_type: InputType) -> Sized:
        """Return smaller series, images or volumes of the same channels."""
        entered = entering(self, input_type, len(self.kernel_size))
        *sizes, channels = entered.shape
        return with_shape(entered, (*window_sizes(self, tuple(sizes)), channels))


class SubsamplingConf(PoolingConf):
    """What pooling of series and of images have in common."""

    takes_network_dropout: ClassVar[bool] = False

    pooling_type: PoolingName = Field(default="max", kw_only=False)
    pnorm: Index = 0
    eps: Positive = 1e-8
    include_padding: bool = False

    @property
    def pooling(self) -> Pooling:
        """What a window becomes."""
        return Pooling(self.pooling_type, self.pnorm, self.eps, self.include_padding)

    @model_validator(mode="after")
    def _check_exponent(self) -> "SubsamplingConf":
        if self.pooling_type == "pnorm" and self.pnorm == 0:
            raise PathError(
                "must be at least 1 for pooling_type 'pnorm', got 0.", "pnorm"
            )
        return self


P = TypeVar("P", bound=PoolingConf)


class PoolingLayer(Layer[P]):
    """Maximum, sum, average or p-norm of each window."""

    def forward(
        self,
        x: FloatArray,
        *,
        training: bool,
        mask: FloatArray | None = None,
        rng: np.random.Generator | None = None,
    ) -> FloatArray:
        """Compute the output, (batch, *window.out, channels).

        See :meth:`Layer.forward`. Masks only pass by.
        """
        self._check_input(x)
        return self._pool(x, window_of(self.conf, x.shape[1:-1]), self.conf.pooling)

    def _pool(self, x: FloatArray, window: Window, pooling: Pooling) -> FloatArray:
        """Pool the windows on `x`, and keep what the gradient needs."""
        self._x, self._window, self._pooling = x, window, pooling
        shape = (x.shape[0], *window.out, x.shape[-1])
        out = self._output = self._buffer("output", shape, x.dtype)
        if pooling.kind == "max":
            index_dtype = "uint8" if window.n_cells <= 256 else "uint32"
            self._winner: Any = self._buffer("winner", shape, index_dtype)
            return max_pool_forward(
                x, window, self._workspace, out=out, winner=self._winner
            )
        if pooling.kind == "avg":
            return average_pool_forward(
                x, window, include_padding=pooling.include_padding, out=out
            )
        if pooling.kind == "pnorm":
            return pnorm_pool_forward(
                x, window, pooling.exponent, self._workspace, out=out
            )
        return sum_pool_forward(x, window, out=out)

    def backward(self, grad_out: FloatArray) -> FloatArray:
        """Compute the gradient; see :meth:`Layer.backward`."""
        grad_x = self._buffer("grad_x", self._x.shape, grad_out.dtype)
        window, pooling = self._window, self._pooling
        if pooling.kind == "max":
            return max_pool_backward(
                grad_out, self._winner, window, self._workspace, grad_x=grad_x
            )
        if pooling.kind == "avg":
            return average_pool_backward(
                grad_out,
                window,
                self._workspace,
                include_padding=pooling.include_padding,
                grad_x=grad_x,
            )
        if pooling.kind == "pnorm":
            return pnorm_pool_backward(
                grad_out,
                self._x,
                self._output,
                window,
                pooling.exponent,
                self._workspace,
                eps=pooling.eps,
                grad_x=grad_x,
            )
        return sum_pool_backward(grad_out, window, self._workspace, grad_x=grad_x)
