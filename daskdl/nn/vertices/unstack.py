"""The vertex that takes one minibatch out of a stack of several."""

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import ConfigDict, Field, model_validator

from daskdl.arrays.namespace import FloatArray
from daskdl.errors import ShapeError
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.input_type import InputType
from daskdl.nn.conf.values import Count, Index
from daskdl.nn.conf.vertex import VertexConf
from daskdl.nn.vertices.cut import CutVertex


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


class Unstack(CutVertex[UnstackVertex]):
    """One part of a stack."""

    def _part_of(self, x: FloatArray) -> Any:
        return self._rows(len(x))

    def feed_forward_mask(
        self,
        masks: Sequence[FloatArray | None],
        *,
        network_mask: FloatArray | None = None,
    ) -> FloatArray | None:
        """Return the part's own rows of the mask, (rows, time) or (rows, 1)."""
        (mask,) = masks
        return None if mask is None else mask[self._rows(len(mask))]

    def batch_size(self, sizes: Sequence[int]) -> int:
        """Return the number of examples in one part."""
        return sizes[0] // self.conf.stack_size

    def _rows(self, n_rows: int) -> slice:
        size, rest = divmod(n_rows, self.conf.stack_size)
        if rest:
            raise ShapeError(
                f"{self.who}: rows must be {self.conf.stack_size} equal parts "
                f"(stack_size), got {n_rows}."
            )
        return slice(self.conf.from_ * size, (self.conf.from_ + 1) * size)
