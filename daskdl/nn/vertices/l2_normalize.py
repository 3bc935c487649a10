"""The vertex that brings each example to length 1."""

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import BeforeValidator

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.arrays.workspace import Workspace
from daskdl.nn.conf.axes import axis_inside
from daskdl.nn.conf.input_type import InputType
from daskdl.nn.conf.values import Index, Positive, repeated
from daskdl.nn.conf.vertex import VertexConf
from daskdl.nn.vertices.vertex import Vertex


class L2NormalizeVertex(VertexConf):
    """Divide each example by its Euclidean norm, or by `eps` if that is larger.

    Parameters
    ----------
    dimensions : tuple of int, optional
        Axes whose numbers make up one norm, counted as the data format of the input
        has them: 1 normalizes the channels of each pixel of format NCHW. None or empty
        stands for all but that of the examples.
    eps : float, default 1e-8
        Least divisor.
    """

    type: Literal["l2_normalize"] = "l2_normalize"
    dimensions: Annotated[tuple[Index, ...] | None, BeforeValidator(repeated(1))] = None
    eps: Positive = 1e-8

    def axes(self, input_type: InputType) -> tuple[int, ...]:
        """Return the axes of one norm, as they lie inside."""
        if not self.dimensions:
            return tuple(range(1, len(input_type.shape) + 1))
        found = {axis_inside(input_type, d, "dimensions") for d in self.dimensions}
        return tuple(sorted(found))

    def output_type(self, input_types: Sequence[InputType]) -> InputType:
        """Return the input's type."""
        whole = self.only(input_types)
        self.axes(whole)
        return whole


class L2Normalize(Vertex[L2NormalizeVertex]):
    """``x / max(norm of x, eps)``, the norm over some or all axes of an example.

    Steps that a mask drops do not count, and come out as 0.
    """

    def __init__(
        self,
        conf: L2NormalizeVertex,
        input_types: Sequence[InputType],
        name: str,
        workspace: Workspace,
    ) -> None:
        super().__init__(conf, input_types, name, workspace)
        self._axes = conf.axes(self.input_types[0])

    def forward(
        self,
        inputs: Sequence[FloatArray],
        *,
        masks: Sequence[FloatArray | None],
        network_input: FloatArray | None = None,
        network_mask: FloatArray | None = None,
        batch_size: int = 0,
    ) -> FloatArray:
        """Divide examples, (batch, ...), by their norms; see :meth:`Vertex.forward`."""
        (self._x,) = self._unpadded(inputs, masks)
        x, xp = self._x, array_namespace(self._x)
        output: FloatArray = self._buffer("output", x.shape, x.dtype)
        xp.multiply(x, x, out=output)
        shape = tuple(1 if i in self._axes else n for i, n in enumerate(x.shape))
        self._norm: FloatArray = self._buffer("norm", shape, x.dtype)
        xp.sum(output, axis=self._axes, keepdims=True, out=self._norm)
        xp.sqrt(self._norm, out=self._norm)
        xp.divide(x, xp.maximum(self._norm, self.conf.eps), out=output)
        return output

    def backward(self, grad_out: FloatArray) -> list[FloatArray]:
        """Compute the gradient; see :meth:`Vertex.backward`.

        It is ``g / norm - x (x . g) / norm ** 3``, and ``g / eps`` where the norm is
        less than eps.
        """
        x, xp, eps = self._x, array_namespace(self._x), self.conf.eps
        grad_x: FloatArray = self._buffer("grad_x", x.shape, x.dtype)
        xp.multiply(x, grad_out, out=grad_x)
        along = xp.sum(grad_x, axis=self._axes, keepdims=True)
        if "l2_normalize_bounds_cube" in self.conf.quirks:
            along /= xp.maximum(self._norm**3, eps)
        else:
            along *= self._norm > eps
            # One after the other: the cube of a small norm is 0 in float32.
            for _ in range(3):
                along /= xp.maximum(self._norm, eps)
        xp.divide(grad_out, xp.maximum(self._norm, eps), out=grad_x)
        grad_x -= xp.multiply(x, along, out=self._buffer("part", x.shape, x.dtype))
        return self._of_kept_steps("grad unpadded", [grad_x])
