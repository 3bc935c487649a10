"""The fully connected layer."""

import numpy as np

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.nn.conf.layers import Dense
from daskdl.nn.layers.affine import AffineLayer
from daskdl.nn.masks import column_mask


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
        self._preout = self._affine_forward(x, training=training, rng=rng)
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
