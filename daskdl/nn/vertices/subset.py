"""The vertex that takes some features or channels."""

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import ConfigDict, Field

from daskdl.arrays.namespace import FloatArray
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.input_type import InputType, with_features
from daskdl.nn.conf.values import Index
from daskdl.nn.conf.vertex import VertexConf
from daskdl.nn.vertices.cut import CutVertex


class SubsetVertex(VertexConf):
    """Take the features (or channels) from `from_` to `to`, both included.

    Parameters
    ----------
    from_, to : int
        First and last of the features or channels, from 0; the key of the first is
        ``from``.
    """

    model_config = ConfigDict(populate_by_name=True)

    type: Literal["subset"] = "subset"
    from_: Index = Field(alias="from")
    to: Index

    def output_type(self, input_types: Sequence[InputType]) -> InputType:
        """Return the input's type with fewer features or channels."""
        whole = self.only(input_types)
        n_features = whole.shape[-1]
        last = self.to if n_features is None else n_features - 1
        if not self.from_ <= self.to <= last:
            raise PathError(
                f"must be from {self.from_} (from) to {last}, the last of {whole}, "
                f"got {self.to}.",
                "to",
            )
        return with_features(whole, self.to - self.from_ + 1)


class Subset(CutVertex[SubsetVertex]):
    """Features (or channels) from `from_` to `to`, both included."""

    def _part_of(self, x: FloatArray) -> Any:
        return (..., slice(self.conf.from_, self.conf.to + 1))
