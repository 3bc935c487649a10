"""The layer that turns blocks of pixels into channels."""

from typing import Literal

import numpy as np

from daskdl.arrays.namespace import FloatArray
from daskdl.kernels.blocks import space_to_depth_backward, space_to_depth_forward
from daskdl.kernels.window import Window, WindowAxis, window_axis
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.input_type import Convolutional, InputType
from daskdl.nn.conf.layer import DroppedLayerConf
from daskdl.nn.conf.values import Count
from daskdl.nn.layers.entering import images_in
from daskdl.nn.layers.layer import Layer


class SpaceToDepth(DroppedLayerConf):
    """Turn each block of pixels into one pixel with the channels of all of them.

    Parameters
    ----------
    block_size : int
        Height and width of a block; must divide those of the images.

    Notes
    -----
    Pixels go row by row, the channels of each together,
    whatever the data format at the border.
    """

    type: Literal["space_to_depth"] = "space_to_depth"
    block_size: Count

    def output_type(self, input_type: InputType) -> Convolutional:
        """Return smaller images of more channels."""
        images = images_in(self, input_type)
        sizes = [self.blocks_along(size) for size in (images.height, images.width)]
        return images.replaced(
            height=sizes[0],
            width=sizes[1],
            channels=images.channels * self.block_size**2,
        )

    def blocks_along(self, size: int | None) -> int | None:
        """Return how many blocks an axis holds, or refuse what does not divide.

        Raises
        ------
        OptionError
            If the block does not divide `size`.
        """
        if size is None:
            return None
        if size % self.block_size:
            raise PathError(
                f"must divide height and width of the images, got {self.block_size} "
                f"for {size}.",
                "block_size",
            )
        return size // self.block_size


class SpaceToDepthLayer(Layer[SpaceToDepth]):
    """Blocks of pixels as channels. Masks only pass by."""

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
        self._window = Window(*(self._axis(size) for size in x.shape[1:3]))
        channels = x.shape[3] * self._window.n_cells
        shape = (x.shape[0], *self._window.out, channels)
        out = self._buffer("output", shape, x.dtype)
        return space_to_depth_forward(x, self._window, out=out)

    def backward(self, grad_out: FloatArray) -> FloatArray:
        """Compute the gradient; see :meth:`Layer.backward`."""
        grad_x = self._buffer("grad_x", self._x_shape, grad_out.dtype)
        return space_to_depth_backward(grad_out, self._window, grad_x=grad_x)

    def _axis(self, size: int) -> WindowAxis:
        self.conf.blocks_along(size)
        block = self.conf.block_size
        return window_axis(size, block, block, 0, 1, "truncate")
