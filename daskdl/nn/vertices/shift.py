"""The vertex that adds a number."""

from collections.abc import Sequence
from typing import Literal

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.nn.conf.input_type import InputType
from daskdl.nn.conf.values import Real
from daskdl.nn.conf.vertex import VertexConf
from daskdl.nn.vertices.vertex import Vertex


class ShiftVertex(VertexConf):
    """Add `shift_factor`.

    Parameters
    ----------
    shift_factor : float
        The number.
    """

    type: Literal["shift"] = "shift"
    shift_factor: Real

    def output_type(self, input_types: Sequence[InputType]) -> InputType:
        """Return the input's type."""
        return self.only(input_types)


class Shift(Vertex[ShiftVertex]):
    """``x + shift_factor``."""

    def forward(
        self,
        inputs: Sequence[FloatArray],
        *,
        masks: Sequence[FloatArray | None],
        network_input: FloatArray | None = None,
        network_mask: FloatArray | None = None,
        batch_size: int = 0,
    ) -> FloatArray:
        """Add to the input, an array like it; see :meth:`Vertex.forward`."""
        (x,) = inputs
        output: FloatArray = self._buffer("output", x.shape, x.dtype)
        array_namespace(x).add(x, self.conf.shift_factor, out=output)
        return output

    def backward(self, grad_out: FloatArray) -> list[FloatArray]:
        """Hand the gradient on; see :meth:`Vertex.backward`."""
        return [grad_out]
