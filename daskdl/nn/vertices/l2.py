"""The vertex that measures how far two inputs are apart."""

import math
from collections.abc import Sequence
from typing import Literal

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.nn.conf.axes import known, same_kind
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.input_type import FeedForward, InputType, Recurrent
from daskdl.nn.conf.values import Positive
from daskdl.nn.conf.vertex import VertexConf
from daskdl.nn.vertices.vertex import Vertex


class L2Vertex(VertexConf):
    """Compute the Euclidean distance of two inputs, a number an example.

    Parameters
    ----------
    eps : float, default 1e-8
        Least distance that the gradient divides by.
    """

    type: Literal["l2"] = "l2"
    eps: Positive = 1e-8

    def output_type(self, input_types: Sequence[InputType]) -> FeedForward:
        """Return rows of one number."""
        if len(input_types) != 2:
            raise PathError(f"must be two names, got {self.inputs!r}.", "inputs")
        same_kind(input_types)
        first, second = input_types
        pairs = zip(first.shape, second.shape, strict=True)
        if any(len(set(known(pair))) > 1 for pair in pairs):
            raise PathError(f"must have one shape, got {first} and {second}.", "inputs")
        return FeedForward(size=1)


class L2(Vertex[L2Vertex]):
    """``sqrt(sum((a - b) ** 2))`` over all axes of an example, and steps that are kept.

    A step that one of two masks drops counts 0 there.
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
        """Compute the distances; see :meth:`Vertex.forward`."""
        self._check_same_shape(inputs)
        a, b = self._unpadded(inputs, masks)
        xp = array_namespace(a)
        self._difference: FloatArray = self._buffer("difference", a.shape, a.dtype)
        xp.subtract(a, b, out=self._difference)
        output: FloatArray = self._buffer("output", (len(a), 1), a.dtype)
        squares = self._buffer("squares", (len(a), math.prod(a.shape[1:])), a.dtype)
        xp.square(self._difference.reshape(squares.shape), out=squares)
        xp.sum(squares, axis=1, keepdims=True, out=output)
        xp.sqrt(output, out=output)
        self._distance = output
        return output

    def backward(self, grad_out: FloatArray) -> list[FloatArray]:
        """Compute the gradients of both inputs; see :meth:`Vertex.backward`."""
        xp = array_namespace(grad_out)
        shape, dtype = self._difference.shape, grad_out.dtype
        each = grad_out / xp.maximum(self._distance, self.conf.eps)
        each = each.reshape(len(each), *(1 for _ in shape[1:]))
        grad_a = self._buffer("grad_a", shape, dtype)
        grad_b = self._buffer("grad_b", shape, dtype)
        xp.multiply(self._difference, each, out=grad_a)
        xp.negative(grad_a, out=grad_b)
        return self._of_kept_steps("grad unpadded", [grad_a, grad_b])

    def feed_forward_mask(
        self,
        masks: Sequence[FloatArray | None],
        *,
        network_mask: FloatArray | None = None,
    ) -> FloatArray | None:
        """Return the first mask, (batch, 1), of examples; one of steps ends here."""
        return None if isinstance(self.input_types[0], Recurrent) else masks[0]
