"""What the vertices share that take a part of an array."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, TypeVar

from daskdl.arrays.namespace import FloatArray
from daskdl.nn.conf.vertex import VertexConf
from daskdl.nn.vertices.vertex import Vertex

C = TypeVar("C", bound=VertexConf)


class CutVertex(Vertex[C]):
    """A part of the input. What is left out gets the gradient 0."""

    def forward(
        self,
        inputs: Sequence[FloatArray],
        *,
        masks: Sequence[FloatArray | None],
        network_input: FloatArray | None = None,
        network_mask: FloatArray | None = None,
        batch_size: int = 0,
    ) -> FloatArray:
        """Copy the part; see :meth:`Vertex.forward`."""
        (x,) = inputs
        self._x_shape, self._place = x.shape, self._part_of(x)
        part = x[self._place]
        output: FloatArray = self._buffer("output", part.shape, x.dtype)
        output[...] = part
        return output

    def backward(self, grad_out: FloatArray) -> list[FloatArray]:
        """Return a gradient of 0 around the part; see :meth:`Vertex.backward`."""
        grad_x: FloatArray = self._buffer("grad_x", self._x_shape, grad_out.dtype)
        grad_x.fill(0)
        grad_x[self._place] = grad_out
        return [grad_x]

    @abstractmethod
    def _part_of(self, x: FloatArray) -> Any:
        """Return the index of the part in `x`."""
