"""The layer that turns blocks of pixels into channels."""

from typing import ClassVar, Literal

from daskdl.arrays.namespace import FloatArray
from daskdl.kernels.blocks import space_to_depth_backward, space_to_depth_forward
from daskdl.kernels.window import Window, WindowAxis, window_axis
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.input_type import Convolutional, InputType
from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.conf.options import DropoutOptions
from daskdl.nn.conf.values import Count
from daskdl.nn.layers.input_kinds import images_in
from daskdl.nn.run import Backward, Run


class SpaceToDepth(DropoutOptions, LayerConf):
    """Turn each block of pixels into one pixel with all their channels.

    Parameters
    ----------
    block_size : int
        Height and width of a block; must divide those of the images.

    Notes
    -----
    Pixels go row by row, the channels of each together,
    whatever the data format.
    """

    can_be_cut: ClassVar[bool] = True

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
        """Return the number of blocks along an axis; refuse sizes that do not divide.

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

    def forward(self, run: Run, x: FloatArray) -> tuple[FloatArray, Backward]:
        """Turn blocks of `x`, (batch, height, width, channels), into channels."""
        window, entered = Window(*(self._axis(size) for size in x.shape[1:3])), x.shape

        def backward(grad_out: FloatArray) -> FloatArray:
            grad_x = run.lent("grad_x", entered, grad_out.dtype)
            return space_to_depth_backward(grad_out, window, grad_x=grad_x)

        shape = (x.shape[0], *window.out, x.shape[3] * window.n_cells)
        out = run.lent("output", shape, x.dtype)
        return space_to_depth_forward(x, window, out=out), backward

    def _axis(self, size: int) -> WindowAxis:
        self.blocks_along(size)
        block = self.block_size
        return window_axis(size, block, block, 0, 1, "truncate")
