"""The vertex that takes the last time step."""

from collections.abc import Sequence
from typing import Any, Literal

from numpy.typing import NDArray

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.input_type import FeedForward, InputType, Recurrent
from daskdl.nn.conf.vertex import VertexConf
from daskdl.nn.masks import at_steps, check_step_mask, last_steps
from daskdl.nn.vertices.vertex import Vertex


class LastTimeStepVertex(VertexConf):
    """Take the last time step, or the last one that the mask keeps.

    Parameters
    ----------
    mask_input : str, optional
        The network input whose mask counts; None takes the mask that arrives.
    """

    type: Literal["last_time_step"] = "last_time_step"
    mask_input: str | None = None

    @property
    def reads_network_input(self) -> str | None:
        """The network input whose mask is needed."""
        return self.mask_input

    def output_type(self, input_types: Sequence[InputType]) -> FeedForward:
        """Return rows of the features."""
        series = self.only(input_types)
        if not isinstance(series, Recurrent):
            raise PathError(f"must be a time series, got {series}.", "inputs")
        return FeedForward(size=series.size)


class LastTimeStep(Vertex[LastTimeStepVertex]):
    """The last step of each series, or the last one that the mask keeps.

    A series of which the mask keeps nothing gives 0.
    """

    def forward(
        self,
        inputs: Sequence[FloatArray],
        *,
        masks: Sequence[FloatArray | None],
        network_input: FloatArray | None = None,
        network_mask: FloatArray | None = None,
        batch_size: int = 0,
    ) -> FloatArray:
        """Take the last steps, (batch, n); see :meth:`Vertex.forward`."""
        (x,) = inputs
        mask = network_mask if self.conf.mask_input is not None else masks[0]
        check_step_mask(mask, x, self.who)
        self._x_shape = x.shape
        self._steps = None if mask is None else self._last_steps(mask)
        self._is_empty = self._empty(mask)
        output: FloatArray = self._buffer("output", x[:, -1].shape, x.dtype)
        output[...] = x[at_steps(x, self._steps)]
        if self._is_empty is not None:
            output[self._is_empty] = 0
        return output

    def backward(self, grad_out: FloatArray) -> list[FloatArray]:
        """Return a gradient of 0 at the other steps; see :meth:`Vertex.backward`."""
        grad_x: FloatArray = self._buffer("grad_x", self._x_shape, grad_out.dtype)
        grad_x.fill(0)
        grad_x[at_steps(grad_out, self._steps)] = grad_out
        if self._is_empty is not None:
            grad_x[self._is_empty] = 0
        return [grad_x]

    def feed_forward_mask(
        self,
        masks: Sequence[FloatArray | None],
        *,
        network_mask: FloatArray | None = None,
    ) -> FloatArray | None:
        """Return None: there is no time left to mask.

        See :meth:`Vertex.feed_forward_mask`.
        """
        return None

    def _last_steps(self, mask: FloatArray) -> NDArray[Any]:
        """Return the last step that the mask keeps of each series (batch,)."""
        steps = last_steps(mask)
        if "last_of_no_step_is_first" not in self.conf.quirks:
            return steps
        xp = array_namespace(mask)
        first_for_none: NDArray[Any] = xp.where((mask > 0).any(axis=1), steps, 0)
        return first_for_none

    def _empty(self, mask: FloatArray | None) -> NDArray[Any] | None:
        """Return which series have no step (batch,), if that makes their output 0."""
        if mask is None or "last_of_no_step_is_first" in self.conf.quirks:
            return None
        is_empty: NDArray[Any] = array_namespace(mask).all(mask <= 0, axis=1)
        return is_empty
