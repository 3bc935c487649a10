"""The vertex that brings each example to length 1."""

from collections.abc import Sequence
from typing import Literal

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.nn.conf.input_type import InputType
from daskdl.nn.conf.values import Positive
from daskdl.nn.conf.vertex import VertexConf
from daskdl.nn.vertices.vertex import Vertex


class L2NormalizeVertex(VertexConf):
    """Divide each example by its Euclidean norm, or by `eps` if that is larger."""

    type: Literal["l2_normalize"] = "l2_normalize"
    eps: Positive = 1e-8

    def output_type(self, input_types: Sequence[InputType]) -> InputType:
        """Return the input's type."""
        return self.only(input_types)


class L2Normalize(Vertex[L2NormalizeVertex]):
    """``x / max(norm of x, eps)``, the norm over all axes of an example."""

    def forward(
        self,
        inputs: Sequence[FloatArray],
        *,
        masks: Sequence[FloatArray | None],
        network_input: FloatArray | None = None,
        network_mask: FloatArray | None = None,
        batch_size: int = 0,
    ) -> FloatArray:
        """Divide each example by its norm; see :meth:`Vertex.forward`."""
        (x,) = inputs
        xp = array_namespace(x)
        rows = x.reshape(x.shape[0], -1)
        norm = xp.sqrt(xp.sum(rows * rows, axis=1, keepdims=True))
        self._is_floored = norm < self.conf.eps
        self._length = xp.maximum(norm, self.conf.eps)
        self._output: FloatArray = self._buffer("output", rows.shape, x.dtype)
        xp.divide(rows, self._length, out=self._output)
        output: FloatArray = self._output.reshape(x.shape)
        return output

    def backward(self, grad_out: FloatArray) -> list[FloatArray]:
        """Compute the gradient; see :meth:`Vertex.backward`.

        With y = x / norm it is ``(g - y (y . g)) / norm``; where eps took the place
        of the norm, ``g / eps``.
        """
        xp = array_namespace(grad_out)
        grad = grad_out.reshape(self._output.shape)
        along = xp.sum(self._output * grad, axis=1, keepdims=True)
        along *= ~self._is_floored
        grad_x: FloatArray = self._buffer("grad_x", grad.shape, grad.dtype)
        xp.multiply(self._output, -along, out=grad_x)
        grad_x += grad
        grad_x /= self._length
        return [grad_x.reshape(grad_out.shape)]
