"""The vertex that takes some features or channels."""

from collections.abc import Sequence

from daskdl.arrays.namespace import FloatArray
from daskdl.nn.conf.vertices import SubsetVertex
from daskdl.nn.vertices.vertex import Vertex


class Subset(Vertex[SubsetVertex]):
    """Features (or channels) from `from_` to `to`, both included."""

    def forward(
        self,
        inputs: Sequence[FloatArray],
        *,
        masks: Sequence[FloatArray | None],
        network_input: FloatArray | None = None,
        network_mask: FloatArray | None = None,
    ) -> FloatArray:
        """Copy the features; see :meth:`Vertex.forward`."""
        (x,) = inputs
        self._x_shape = x.shape
        taken = x[..., self.conf.from_ : self.conf.to + 1]
        output: FloatArray = self._buffer("output", taken.shape, x.dtype)
        output[...] = taken
        return output

    def backward(self, grad_out: FloatArray) -> list[FloatArray]:
        """Return a gradient of 0 around the features; see :meth:`Vertex.backward`."""
        grad_x: FloatArray = self._buffer("grad_x", self._x_shape, grad_out.dtype)
        grad_x.fill(0)
        grad_x[..., self.conf.from_ : self.conf.to + 1] = grad_out
        return [grad_x]
