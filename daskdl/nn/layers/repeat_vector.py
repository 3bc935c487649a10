"""The layer that makes a time series of one row."""

from typing import Literal

import numpy as np
from pydantic import Field

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.nn.conf.input_type import InputType, Recurrent, SeriesFormat
from daskdl.nn.conf.layer import DroppedLayerConf
from daskdl.nn.conf.values import Count
from daskdl.nn.layers.entering import rows_in
from daskdl.nn.layers.layer import Layer


class RepeatVector(DroppedLayerConf):
    """Repeat each row at every time step.

    Parameters
    ----------
    n : int
        Number of time steps.
    data_format : {"NCW", "NWC"}
        Of what comes out, should it leave the network.
    """

    type: Literal["repeat_vector"] = "repeat_vector"
    n: Count = Field(default=1, kw_only=False)
    data_format: SeriesFormat = "NCW"

    def output_type(self, input_type: InputType) -> Recurrent:
        """Return time series of `n` steps; refuse all but rows."""
        rows = rows_in(self, input_type)
        return Recurrent(
            size=rows.n_features, time_steps=self.n, data_format=self.data_format
        )


class RepeatVectorLayer(Layer[RepeatVector]):
    """Each row at every time step."""

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
        shape = (len(x), self.conf.n, x.shape[1])
        output: FloatArray = self._buffer("output", shape, x.dtype)
        output[...] = x[:, None, :]
        return output

    def backward(self, grad_out: FloatArray) -> FloatArray:
        """Sum the gradient over the time steps; see :meth:`Layer.backward`."""
        shape = (grad_out.shape[0], grad_out.shape[2])
        grad_x: FloatArray = self._buffer("grad_x", shape, grad_out.dtype)
        array_namespace(grad_out).sum(grad_out, axis=1, out=grad_x)
        return grad_x

    def feed_forward_mask(self, mask: FloatArray | None) -> FloatArray | None:
        """Return no mask: that of the rows is none of the steps."""
        return None
