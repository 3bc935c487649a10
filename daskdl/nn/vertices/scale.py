"""The vertex that multiplies by a number."""

from collections.abc import Sequence
from typing import Literal

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.nn.conf.input_type import InputType
from daskdl.nn.conf.values import Real
from daskdl.nn.conf.vertex import VertexConf
from daskdl.nn.vertices.vertex import Vertex


class ScaleVertex(VertexConf):
    """Multiply by `scale_factor`.

    Parameters
    ----------
    scale_factor : float
        The number.
    """

    type: Literal["scale"] = "scale"
    scale_factor: Real

    def output_type(self, input_types: Sequence[InputType]) -> InputType:
        """Return the input's type."""
        return self.only(input_types)


class Scale(Vertex[ScaleVertex]):
    """``x * scale_factor``."""

    def forward(
        self,
        inputs: Sequence[FloatArray],
        *,
        masks: Sequence[FloatArray | None],
        network_input: FloatArray | None = None,
        network_mask: FloatArray | None = None,
        batch_size: int = 0,
    ) -> FloatArray:
        """Multiply the input, an array like it; see :meth:`Vertex.forward`."""
        (x,) = inputs
        return self._scaled("output", x)

    def backward(self, grad_out: FloatArray) -> list[FloatArray]:
        """Multiply the gradient; see :meth:`Vertex.backward`."""
        return [self._scaled("grad_x", grad_out)]

    def _scaled(self, what: str, array: FloatArray) -> FloatArray:
        out: FloatArray = self._buffer(what, array.shape, array.dtype)
        array_namespace(array).multiply(array, self.conf.scale_factor, out=out)
        return out
