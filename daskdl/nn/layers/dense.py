"""The fully connected layer."""

from typing import Literal

import numpy as np

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.nn.conf.input_type import FeedForward, InputType, Recurrent
from daskdl.nn.conf.layer import (
    WeightLayerConf,
    dense_parameters,
)
from daskdl.nn.conf.parameters import Parameter
from daskdl.nn.layers.affine import AffineLayer
from daskdl.nn.masks import column_mask


class Dense(WeightLayerConf):
    """A fully connected layer: ``activation(x @ W + b)``.

    Images are flattened channel by channel, as DL4J does; time series go through step
    by step.
    """

    type: Literal["dense"] = "dense"
    has_bias: bool = True

    def output_type(self, input_type: InputType) -> InputType:
        """Return rows of `n_out`, or time series of them."""
        self.inferred_n_in(input_type)
        if isinstance(input_type, Recurrent):
            return input_type.replaced(size=self.n_out)
        return FeedForward(size=self.n_out)

    def parameters(self, input_type: InputType) -> tuple[Parameter, ...]:
        """Return W (n_in, n_out) and b (n_out,)."""
        return dense_parameters(self, input_type, has_bias=self.has_bias)


class DenseLayer(AffineLayer[Dense]):
    """``activation(x @ W + b)`` of rows, flattened images or each time step.

    Masked rows come out as 0 and send no gradient back, as in DL4J.
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
        self._preout = self._affine_forward(x)
        n_rows, n_out = self._preout.shape
        self._column = None if mask is None else column_mask(mask, n_rows, self.who)
        self._output = self._activated(self._preout)
        if self._column is not None:
            self._output *= self._column
        return self._output.reshape(*self._row_axes(), n_out)

    def backward(self, grad_out: FloatArray) -> FloatArray | None:
        """Compute the gradients; see :meth:`Layer.backward`."""
        xp = array_namespace(grad_out)
        grad = grad_out.reshape(self._output.shape)
        grad_preout = self._like("grad_preout", self._output)
        if self._column is not None:
            grad = xp.multiply(grad, self._column, out=grad_preout)
        self._activation.backward(grad, self._preout, self._output, out=grad_preout)
        return self._affine_backward(grad_preout)

    def _row_axes(self) -> tuple[int, ...]:
        """Return (batch, time) of series, else (batch,)."""
        n_axes = len(self.output_type.shape)
        return self._x_shape[:n_axes]
