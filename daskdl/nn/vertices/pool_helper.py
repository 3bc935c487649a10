"""The vertex that cuts off the first row and column of images."""

from collections.abc import Sequence
from typing import Literal

from daskdl.arrays.namespace import FloatArray
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.input_type import Convolutional, InputType
from daskdl.nn.conf.vertex import VertexConf
from daskdl.nn.vertices.vertex import Vertex


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


class PoolHelper(Vertex[PoolHelperVertex]):
    """Images without their first row and first column."""

    def forward(
        self,
        inputs: Sequence[FloatArray],
        *,
        masks: Sequence[FloatArray | None],
        network_input: FloatArray | None = None,
        network_mask: FloatArray | None = None,
        batch_size: int = 0,
    ) -> FloatArray:
        """Copy the rest; see :meth:`Vertex.forward`."""
        (x,) = inputs
        self._x_shape = x.shape
        rest = x[:, 1:, 1:]
        output: FloatArray = self._buffer("output", rest.shape, x.dtype)
        output[...] = rest
        return output

    def backward(self, grad_out: FloatArray) -> list[FloatArray]:
        """Return a gradient of 0 where was cut off; see :meth:`Vertex.backward`."""
        grad_x: FloatArray = self._buffer("grad_x", self._x_shape, grad_out.dtype)
        grad_x.fill(0)
        grad_x[:, 1:, 1:] = grad_out
        return [grad_x]


def _less(size: int | None) -> int | None:
    return None if size is None else size - 1
