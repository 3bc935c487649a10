"""The layer that drops numbers and does nothing else."""

from typing import Literal

import numpy as np

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.nn.conf.input_type import InputType
from daskdl.nn.conf.layer import DroppedLayerConf
from daskdl.nn.layers.layer import Layer
from daskdl.nn.masks import column_mask


class Dropout(DroppedLayerConf):
    """Drop numbers of the input in training and do nothing else.

    `keep_probability` or `dropout` say how, and if neither is given, the network does.
    """

    type: Literal["dropout"] = "dropout"

    def output_type(self, input_type: InputType) -> InputType:
        """Return `input_type`: nothing changes its shape."""
        return input_type


class DropoutLayer(Layer[Dropout]):
    """Passes its input on: the stage around each layer does the dropping."""

    def forward(
        self,
        x: FloatArray,
        *,
        training: bool,
        mask: FloatArray | None = None,
        rng: np.random.Generator | None = None,
    ) -> FloatArray:
        """Return `x`, masked rows as 0; see :meth:`Layer.forward`."""
        self._check_input(x)
        self._column = None
        if mask is not None and x.ndim == 2:
            self._column = column_mask(mask, len(x), self.who)
        return self._masked("output", x)

    def backward(self, grad_out: FloatArray) -> FloatArray:
        """Return `grad_out`, masked rows as 0; see :meth:`Layer.backward`."""
        return self._masked("grad_x", grad_out)

    def _masked(self, what: str, rows: FloatArray) -> FloatArray:
        if self._column is None:
            return rows
        xp = array_namespace(rows)
        masked: FloatArray = xp.multiply(rows, self._column, out=self._like(what, rows))
        return masked
