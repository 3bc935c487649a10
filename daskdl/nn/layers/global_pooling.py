"""The layer that pools over all time steps, or over height and width."""

import math
from typing import Literal

import numpy as np

from daskdl.arrays.namespace import FloatArray
from daskdl.kernels.global_pooling import (
    global_max_backward,
    global_max_forward,
    global_sum_backward,
    global_sum_forward,
)
from daskdl.nn.conf.input_type import Convolutional, FeedForward, InputType, Recurrent
from daskdl.nn.conf.layer import (
    LayerConf,
    refuse_input,
)
from daskdl.nn.conf.names import (
    GlobalPoolingName,
)
from daskdl.nn.conf.values import (
    Count,
)
from daskdl.nn.layers.layer import Layer
from daskdl.nn.masks import check_step_mask


class GlobalPooling(LayerConf):
    """Pool over all time steps, or over height and width; the rest becomes rows.

    Parameters
    ----------
    pooling_type : {"max", "avg", "sum", "pnorm"}
        How. Masked time steps do not count.
    pnorm : int
        Exponent of ``pnorm``: ``(sum |x|^p)^(1/p)``.
    """

    type: Literal["global_pooling"] = "global_pooling"
    pooling_type: GlobalPoolingName = "max"
    pnorm: Count = 2

    def output_type(self, input_type: InputType) -> FeedForward:
        """Return rows of one number per feature or channel."""
        if isinstance(input_type, Recurrent):
            return FeedForward(size=input_type.size)
        if isinstance(input_type, Convolutional):
            return FeedForward(size=input_type.channels)
        raise refuse_input(self, "time series or images", input_type)


class GlobalPoolingLayer(Layer[GlobalPooling]):
    """Maximum, average, sum or p-norm of each feature over time, or channel over space.

    Masked time steps do not count; a series without any other comes out as 0.
    """

    def forward(
        self,
        x: FloatArray,
        *,
        training: bool,
        mask: FloatArray | None = None,
        rng: np.random.Generator | None = None,
    ) -> FloatArray:
        """Compute the output; see :meth:`Layer.forward`."""
        self._check_input(x)
        self._mask = self._step_mask(x, mask)
        self._x = x
        shape = (x.shape[0], x.shape[-1])
        output: FloatArray = self._buffer("output", shape, x.dtype)
        self._output = output
        cells = self._cells(x)
        kind = self.conf.pooling_type
        if kind == "max":
            self._winner = global_max_forward(cells, self._mask, out=output)
            return output
        return global_sum_forward(cells, kind, self.conf.pnorm, self._mask, out=output)

    def backward(self, grad_out: FloatArray) -> FloatArray:
        """Compute the gradient; see :meth:`Layer.backward`."""
        grad_x: FloatArray = self._buffer("grad_x", self._x.shape, grad_out.dtype)
        cells = self._cells(grad_x)
        kind = self.conf.pooling_type
        if kind == "max":
            global_max_backward(grad_out, self._winner, self._mask, grad_x=cells)
            return grad_x
        global_sum_backward(
            grad_out,
            self._cells(self._x),
            self._output,
            kind,
            self.conf.pnorm,
            self._mask,
            grad_x=cells,
        )
        return grad_x

    def feed_forward_mask(self, mask: FloatArray | None) -> FloatArray | None:
        """Return None after time series: their mask is used up."""
        return None if isinstance(self.input_type, Recurrent) else mask

    def _step_mask(self, x: FloatArray, mask: FloatArray | None) -> FloatArray | None:
        if mask is None or not isinstance(self.input_type, Recurrent):
            return None
        check_step_mask(mask, x, self.who)
        return mask

    @staticmethod
    def _cells(x: FloatArray) -> FloatArray:
        return x.reshape(x.shape[0], math.prod(x.shape[1:-1]), x.shape[-1])
