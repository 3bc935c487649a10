"""The vertex that cuts off the first row and column of images."""

from collections.abc import Sequence
from typing import Any, Literal

from daskdl.arrays.namespace import FloatArray
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.input_type import Convolutional, InputType
from daskdl.nn.conf.vertex import VertexConf
from daskdl.nn.vertices.cut import CutVertex


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


class PoolHelper(CutVertex[PoolHelperVertex]):
    """Images without their first row and first column."""

    def _part_of(self, x: FloatArray) -> Any:
        behind_first = slice(1, None)
        return (slice(None), behind_first, behind_first)


def _less(size: int | None) -> int | None:
    return None if size is None else size - 1
