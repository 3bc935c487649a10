"""The wrapper that keeps the last step of what a recurrent layer computes."""

from typing import Literal

import numpy as np

from daskdl.arrays.namespace import FloatArray
from daskdl.arrays.workspace import Workspace
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.input_type import FeedForward, InputType, Recurrent, describe
from daskdl.nn.layers.entering import series_in
from daskdl.nn.layers.layer import works_for
from daskdl.nn.layers.wrapper import WrapperConf, WrapperLayer
from daskdl.nn.masks import at_steps, check_step_mask, last_steps


class LastTimeStep(WrapperConf):
    """Keep the last time step of a recurrent layer, or the last one of the mask.

    Parameters
    ----------
    layer : layer
        A recurrent layer, or a wrapper around one.
    """

    # In a graph "last_time_step" is the vertex.
    type: Literal["last_time_step_layer"] = "last_time_step_layer"

    def output_type(self, input_type: InputType) -> FeedForward:
        """Return rows of the wrapped layer's outputs."""
        series_in(self, input_type)
        series = self.wrapped_output(input_type)
        if not isinstance(series, Recurrent):
            raise PathError(
                f"must give time series, got one that gives {describe(series)}.",
                "layer",
            )
        return FeedForward(size=series.size)


@works_for(LastTimeStep)
class LastTimeStepLayer(WrapperLayer[LastTimeStep]):
    """The last step of each series, or the last one that the mask keeps.

    No mask goes on: there is no time left.
    """

    def __init__(
        self,
        conf: LastTimeStep,
        input_type: InputType,
        name: str,
        workspace: Workspace,
    ) -> None:
        super().__init__(conf, input_type, name, workspace)
        self.inner.use_mask()

    def forward(
        self,
        x: FloatArray,
        *,
        training: bool,
        mask: FloatArray | None = None,
        rng: np.random.Generator | None = None,
    ) -> FloatArray:
        """Compute the last outputs, (batch, n_out); see :meth:`Layer.forward`."""
        self._check_input(x)
        series = self._inner_forward(x, training=training, mask=mask, rng=rng)
        mask = self.inner.step_mask(mask)
        check_step_mask(mask, series, self.who)
        self._series_shape = series.shape
        self._steps = None if mask is None else last_steps(mask)
        output: FloatArray = self._buffer("output", series[:, -1].shape, x.dtype)
        output[...] = series[at_steps(x, self._steps)]
        return output

    def backward(self, grad_out: FloatArray) -> FloatArray | None:
        """Compute the gradients; see :meth:`Layer.backward`."""
        grad: FloatArray = self._buffer(
            "grad_series", self._series_shape, grad_out.dtype
        )
        grad.fill(0)
        grad[at_steps(grad_out, self._steps)] = grad_out
        return self._inner_backward(grad)

    def feed_forward_mask(self, mask: FloatArray | None) -> None:
        """Return None: there is no time left to mask.

        See :meth:`Layer.feed_forward_mask`.
        """
        return
