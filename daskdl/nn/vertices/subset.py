"""The vertices that take a part of an array: some features, or images cut off."""

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import ConfigDict, Field

from daskdl.arrays.namespace import FloatArray
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.input_type import Convolutional, InputType, with_features
from daskdl.nn.conf.values import Index
from daskdl.nn.conf.vertex import VertexConf
from daskdl.nn.run import Arrays, VertexPass, VertexRun
from daskdl.nn.vertices.inputs import copied


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

    def forward(self, run: VertexRun, inputs: Arrays) -> VertexPass:
        """Copy the features of an array of shape (batch, ..., features)."""
        return part_of(run, inputs, (..., slice(self.from_, self.to + 1)))


class PoolHelperVertex(VertexConf):
    """Cut off the first row and the first column of images.

    GoogLeNet needs it where its weights come from Caffe, which pads otherwise.
    """

    type: Literal["pool_helper"] = "pool_helper"

    def output_type(self, input_types: Sequence[InputType]) -> Convolutional:
        """Return images that are one pixel lower and narrower."""
        images = self.only(input_types)
        if not isinstance(images, Convolutional):
            raise PathError(f"must be images, got {images}.", "inputs")
        if 1 in (images.height, images.width):
            raise PathError(f"must have 2 rows and columns, got {images}.", "inputs")
        return images.replaced(height=_less(images.height), width=_less(images.width))

    def forward(self, run: VertexRun, inputs: Arrays) -> VertexPass:
        """Copy the rest of images (batch, height, width, channels)."""
        behind_first = slice(1, None)
        return part_of(run, inputs, (slice(None), behind_first, behind_first))


def _less(size: int | None) -> int | None:
    return None if size is None else size - 1


def part_of(run: VertexRun, inputs: Arrays, place: Any) -> VertexPass:
    """Copy a part of the only input; what is left out gets the gradient 0.

    Parameters
    ----------
    run : VertexRun
    inputs : sequence of one ndarray of any shape
    place : index
        Of the part.
    """
    (x,) = inputs

    def backward(grad_out: FloatArray) -> list[FloatArray]:
        grad_x = run.buffer("grad_x", x.shape, grad_out.dtype)
        grad_x.fill(0)
        grad_x[place] = grad_out
        return [grad_x]

    return copied(run, "output", x[place]), backward
