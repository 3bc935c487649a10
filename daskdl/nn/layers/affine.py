"""The part that dense and output layers share: rows times weights plus bias."""

from typing import TypeVar

import numpy as np

from daskdl.arrays.namespace import FloatArray
from daskdl.kernels.dense import dense_backward, dense_forward
from daskdl.nn.conf.axes import is_channels_first
from daskdl.nn.conf.input_type import Recurrent
from daskdl.nn.conf.layer import WeightLayerConf
from daskdl.nn.layers.row_layer import RowLayer
from daskdl.nn.preprocessors.arrangement import flatten, row_shape, unflatten

A = TypeVar("A", bound=WeightLayerConf)


class AffineLayer(RowLayer[A]):
    """A layer that computes ``activation(rows @ W + b)``.

    Rows are the examples, or the time steps of all of them. Images and volumes are
    flattened in the order of their data format, by default channel by channel: weights
    of files fit as they are.
    """

    def initialize(self, rng: np.random.Generator) -> None:
        """Draw W with fans n_in and n_out; every bias is `bias_init`."""
        n_in, n_out = self.params["W"].shape
        self._draw("W", n_in, n_out, rng)
        if "b" in self.params:
            self.params["b"].fill(self._given("bias_init", self.conf.bias_init))

    def _affine_forward(self, x: FloatArray, *, bias: bool = True) -> FloatArray:
        """Return ``rows @ W + b`` of shape (rows, n_out); its activation may follow."""
        self._check_input(x)
        self._x_shape = x.shape
        self._rows = self._as_rows(x)
        weight = self.params["W"]
        shape = (self._rows.shape[0], weight.shape[1])
        preout = self._buffer("preout", shape, x.dtype)
        added = self.params.get("b") if bias else None
        return dense_forward(self._rows, weight, added, out=preout)

    def _affine_backward(
        self, grad_preout: FloatArray, *, bias: bool = True
    ) -> FloatArray | None:
        """Write the gradients of :meth:`_affine_forward`; return that in the input."""
        grad_rows = self._rows_backward(grad_preout, bias=bias)
        return None if grad_rows is None else self._from_rows(grad_rows)

    def _rows_backward(
        self, grad_preout: FloatArray, *, bias: bool = True
    ) -> FloatArray | None:
        """Write the gradients of :meth:`_affine_forward`; return that in the rows."""
        wanted = self.gradients if self.needs_gradients else {}
        return dense_backward(
            grad_preout,
            self._rows,
            self.params["W"],
            grad_weight=wanted.get("W"),
            grad_bias=wanted.get("b") if bias else None,
            grad_x=self._like("grad_rows", self._rows) if self.needs_grad_x else None,
        )

    def _as_rows(self, x: FloatArray) -> FloatArray:
        if isinstance(self.input_type, Recurrent):
            return x.reshape(-1, x.shape[2])
        shape = row_shape(x)
        if not is_channels_first(self.input_type):
            return x.reshape(shape)
        rows = self._buffer("rows", shape, x.dtype)
        return flatten(x, rows, channels_first=True)

    def _from_rows(self, grad_rows: FloatArray) -> FloatArray:
        is_series = isinstance(self.input_type, Recurrent)
        if is_series or not is_channels_first(self.input_type):
            return grad_rows.reshape(self._x_shape)
        grad_x = self._buffer("grad_x", self._x_shape, grad_rows.dtype)
        return unflatten(grad_rows, grad_x, channels_first=True)
