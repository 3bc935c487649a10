"""The layer that turns blocks of pixels into images of their own."""

from typing import Literal

import numpy as np

from daskdl.arrays.namespace import FloatArray
from daskdl.kernels.blocks import space_to_batch_backward, space_to_batch_forward
from daskdl.kernels.window import Window, WindowAxis
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.input_type import Convolutional, InputType
from daskdl.nn.conf.layer import DroppedLayerConf
from daskdl.nn.conf.values import CountPair, IndexPair
from daskdl.nn.layers.entering import images_in
from daskdl.nn.layers.layer import Layer


class SpaceToBatch(DroppedLayerConf):
    """Turn each cell of the blocks of an image into an image of its own.

    Parameters
    ----------
    blocks : (int, int) or int
        Height and width of a block; must divide those of the padded images.
    padding : ((int, int), (int, int))
        Zeros at top and bottom, and at left and right, put around first.

    Notes
    -----
    What follows sees ``blocks[0] * blocks[1]`` times as many examples, the whole
    minibatch for the first cell of a block, then for the second: labels and scores are
    as many.
    """

    type: Literal["space_to_batch"] = "space_to_batch"
    blocks: CountPair
    padding: tuple[IndexPair, IndexPair] = ((0, 0), (0, 0))

    def output_type(self, input_type: InputType) -> Convolutional:
        """Return smaller images of the same channels."""
        images = images_in(self, input_type)
        sizes = (images.height, images.width)
        height, width = (
            None if size is None else self.along(axis, size).out
            for axis, size in enumerate(sizes)
        )
        return images.replaced(height=height, width=width)

    def along(self, axis: int, size: int) -> WindowAxis:
        """Return where the blocks lie along height (0) or width (1).

        Raises
        ------
        OptionError
            If the block does not divide the padded size.
        """
        block = self.blocks[axis]
        before, behind = self.padding[axis]
        padded = before + size + behind
        if padded % block:
            raise PathError(
                f"must divide height and width of the padded images, got {self.blocks} "
                f"for {padded}.",
                "blocks",
            )
        return WindowAxis(size, block, block, 1, before, padded // block)


class SpaceToBatchLayer(Layer[SpaceToBatch]):
    """Cells of blocks as images. A mask of examples is repeated for all of them."""

    def forward(
        self,
        x: FloatArray,
        *,
        training: bool,
        mask: FloatArray | None = None,
        rng: np.random.Generator | None = None,
    ) -> FloatArray:
        """Compute the output; see :meth:`Layer.forward`."""
        self._check_input(x)
        self._x_shape = x.shape
        sizes = enumerate(x.shape[1:3])
        self._window = Window(*(self.conf.along(axis, size) for axis, size in sizes))
        batch = x.shape[0] * self._window.n_cells
        out = self._buffer("output", (batch, *self._window.out, x.shape[3]), x.dtype)
        return space_to_batch_forward(x, self._window, out=out)

    def backward(self, grad_out: FloatArray) -> FloatArray:
        """Compute the gradient; see :meth:`Layer.backward`."""
        grad_x = self._buffer("grad_x", self._x_shape, grad_out.dtype)
        return space_to_batch_backward(grad_out, self._window, grad_x=grad_x)

    def feed_forward_mask(self, mask: FloatArray | None) -> FloatArray | None:
        """Return a mask of examples for all images that came of them."""
        if mask is None:
            return None
        n_cells = self.conf.blocks[0] * self.conf.blocks[1]
        shape = (n_cells * mask.shape[0], *mask.shape[1:])
        out: FloatArray = self._buffer("mask", shape, mask.dtype)
        out.reshape(n_cells, *mask.shape)[...] = mask
        return out
