"""The vertex that takes some features or channels."""

from collections.abc import Sequence
from typing import Literal

from pydantic import ConfigDict, Field

from daskdl.arrays.namespace import FloatArray
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.input_type import InputType, features_of, with_features
from daskdl.nn.conf.values import Index
from daskdl.nn.conf.vertex import VertexConf
from daskdl.nn.vertices.vertex import Vertex


class SubsetVertex(VertexConf):
    """Take the features (or channels) from `from_` to `to`, both included."""

    model_config = ConfigDict(populate_by_name=True)

    type: Literal["subset"] = "subset"
    from_: Index = Field(alias="from")
    to: Index

    def output_type(self, input_types: Sequence[InputType]) -> InputType:
        """Return the input's type with fewer features or channels."""
        whole = self.only(input_types)
        if not self.from_ <= self.to < features_of(whole):
            last = features_of(whole) - 1
            raise PathError(
                f"must be from {self.from_} (from) to {last}, the last of {whole}, "
                f"got {self.to}.",
                "to",
            )
        return with_features(whole, self.to - self.from_ + 1)


class Subset(Vertex[SubsetVertex]):
    """Features (or channels) from `from_` to `to`, both included."""

    def forward(
        self,
        inputs: Sequence[FloatArray],
        *,
        masks: Sequence[FloatArray | None],
        network_input: FloatArray | None = None,
        network_mask: FloatArray | None = None,
        batch_size: int = 0,
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
