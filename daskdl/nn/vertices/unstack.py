"""The vertex that takes one minibatch out of a stack of several."""

from collections.abc import Sequence
from typing import Literal

from pydantic import ConfigDict, Field, model_validator

from daskdl.arrays.namespace import FloatArray
from daskdl.errors import ShapeError
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.input_type import InputType
from daskdl.nn.conf.values import Count, Index
from daskdl.nn.conf.vertex import VertexConf
from daskdl.nn.vertices.vertex import Vertex


class UnstackVertex(VertexConf):
    """Take one of the equal parts that a :class:`StackVertex` put one below the other.

    Parameters
    ----------
    from_ : int
        Which part, from 0; the key is ``from``.
    stack_size : int
        Number of parts.
    """

    model_config = ConfigDict(populate_by_name=True)

    type: Literal["unstack"] = "unstack"
    from_: Index = Field(alias="from")
    stack_size: Count

    @model_validator(mode="after")
    def _check_part(self) -> "UnstackVertex":
        if self.from_ >= self.stack_size:
            raise PathError(
                f"must be less than stack_size, {self.stack_size}, got {self.from_}.",
                "from",
            )
        return self

    def output_type(self, input_types: Sequence[InputType]) -> InputType:
        """Return the input's type."""
        return self.only(input_types)


class Unstack(Vertex[UnstackVertex]):
    """One part of a stack."""

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
        self._x_shape = x.shape
        self._rows = self._part(len(x))
        taken = x[self._rows]
        output: FloatArray = self._buffer("output", taken.shape, x.dtype)
        output[...] = taken
        return output

    def backward(self, grad_out: FloatArray) -> list[FloatArray]:
        """Return a gradient of 0 around the part; see :meth:`Vertex.backward`."""
        grad_x: FloatArray = self._buffer("grad_x", self._x_shape, grad_out.dtype)
        grad_x.fill(0)
        grad_x[self._rows] = grad_out
        return [grad_x]

    def feed_forward_mask(
        self,
        masks: Sequence[FloatArray | None],
        *,
        network_mask: FloatArray | None = None,
    ) -> FloatArray | None:
        """Return the part's own mask."""
        (mask,) = masks
        return None if mask is None else mask[self._part(len(mask))]

    def batch_size(self, sizes: Sequence[int]) -> int:
        """Return the number of examples in one part."""
        return sizes[0] // self.conf.stack_size

    def _part(self, n_rows: int) -> slice:
        size, rest = divmod(n_rows, self.conf.stack_size)
        if rest:
            raise ShapeError(
                f"{self.who}: rows must be {self.conf.stack_size} equal parts "
                f"(stack_size), got {n_rows}."
            )
        return slice(self.conf.from_ * size, (self.conf.from_ + 1) * size)
