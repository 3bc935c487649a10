"""The vertex that repeats a row at every time step."""

from collections.abc import Sequence
from typing import Literal

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.errors import ShapeError
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.input_type import FeedForward, InputType, Recurrent
from daskdl.nn.conf.vertex import VertexConf
from daskdl.nn.vertices.vertex import Vertex


class DuplicateToTimeSeriesVertex(VertexConf):
    """Repeat a row at every time step of a network input.

    Parameters
    ----------
    input_name : str
        The network input that gives the number of time steps.
    """

    type: Literal["duplicate_to_time_series"] = "duplicate_to_time_series"
    input_name: str

    @property
    def reads_network_input(self) -> str | None:
        """The network input that gives the number of time steps."""
        return self.input_name

    def output_type(self, input_types: Sequence[InputType]) -> Recurrent:
        """Return time series of the features."""
        rows = self.only(input_types)
        if not isinstance(rows, FeedForward):
            raise PathError(f"must be rows, got {rows}.", "inputs")
        return Recurrent(size=rows.size)


class DuplicateToTimeSeries(Vertex[DuplicateToTimeSeriesVertex]):
    """Each row at all time steps of the network input that the configuration names."""

    def forward(
        self,
        inputs: Sequence[FloatArray],
        *,
        masks: Sequence[FloatArray | None],
        network_input: FloatArray | None = None,
        network_mask: FloatArray | None = None,
        batch_size: int = 0,
    ) -> FloatArray:
        """Repeat rows, (batch, n), as (batch, time, n); see :meth:`Vertex.forward`."""
        (x,) = inputs
        if network_input is None or network_input.ndim != 3:
            came = None if network_input is None else network_input.shape
            raise ShapeError(
                f"{self.who}: network input {self.conf.input_name!r} must have shape "
                f"(batch, time, features), got {came}."
            )
        shape = (x.shape[0], network_input.shape[1], x.shape[1])
        output: FloatArray = self._buffer("output", shape, x.dtype)
        output[...] = x[:, None, :]
        return output

    def backward(self, grad_out: FloatArray) -> list[FloatArray]:
        """Sum the gradient over time; see :meth:`Vertex.backward`."""
        shape = (grad_out.shape[0], grad_out.shape[2])
        grad_x: FloatArray = self._buffer("grad_x", shape, grad_out.dtype)
        array_namespace(grad_out).sum(grad_out, axis=1, out=grad_x)
        return [grad_x]

    def feed_forward_mask(
        self,
        masks: Sequence[FloatArray | None],
        *,
        network_mask: FloatArray | None = None,
    ) -> FloatArray | None:
        """Return the mask (batch, time) of the input that gave the time steps."""
        return network_mask
