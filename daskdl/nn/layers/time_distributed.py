"""The wrapper that applies a layer for rows to each time step."""

from typing import Literal

import numpy as np

from daskdl.arrays.namespace import FloatArray
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.input_type import FeedForward, InputType, Recurrent, describe
from daskdl.nn.layers.entering import series_in
from daskdl.nn.layers.layer import works_for
from daskdl.nn.layers.wrapper import WrapperConf, WrapperLayer
from daskdl.nn.masks import check_step_mask


class TimeDistributed(WrapperConf):
    """Apply a layer for rows to each time step.

    Parameters
    ----------
    layer : layer
        One that takes and gives rows, such as Dense.
    """

    type: Literal["time_distributed"] = "time_distributed"

    def inner_type(self, input_type: InputType) -> FeedForward:
        """Return the rows that the steps are."""
        return FeedForward(size=series_in(self, input_type).size)

    def output_type(self, input_type: InputType) -> Recurrent:
        """Return time series of what comes out of the wrapped layer."""
        series = series_in(self, input_type)
        rows = self.wrapped_output(input_type)
        if not isinstance(rows, FeedForward):
            raise PathError(
                f"must give rows, got one that gives {describe(rows)}.", "layer"
            )
        return series.replaced(size=rows.size)


@works_for(TimeDistributed)
class TimeDistributedLayer(WrapperLayer[TimeDistributed]):
    """A layer for rows, which are the time steps of all examples.

    A mask lies in the order of the rows: it drops the steps that it names.
    """

    def forward(
        self,
        x: FloatArray,
        *,
        training: bool,
        mask: FloatArray | None = None,
        rng: np.random.Generator | None = None,
    ) -> FloatArray:
        """Compute the output, (batch, time, n_out); see :meth:`Layer.forward`."""
        self._check_input(x)
        if mask is not None:
            check_step_mask(mask, x, self.who)
            mask = mask.reshape(-1, 1)
        self._x_shape = x.shape
        rows = self._inner_forward(
            x.reshape(-1, x.shape[2]), training=training, mask=mask, rng=rng
        )
        return rows.reshape(*x.shape[:2], rows.shape[1])

    def backward(self, grad_out: FloatArray) -> FloatArray | None:
        """Compute the gradients of all steps; see :meth:`Layer.backward`."""
        grad_rows = self._inner_backward(grad_out.reshape(-1, grad_out.shape[2]))
        return None if grad_rows is None else grad_rows.reshape(self._x_shape)

    def feed_forward_mask(self, mask: FloatArray | None) -> FloatArray | None:
        """Return the mask if the wrapped layer passes one on.

        See :meth:`Layer.feed_forward_mask`.
        """
        return None if self._mask_behind is None else mask
