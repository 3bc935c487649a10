"""The layer that turns blocks of pixels into images of their own."""

from typing import Literal

from daskdl.arrays.namespace import FloatArray
from daskdl.kernels.blocks import space_to_batch_backward, space_to_batch_forward
from daskdl.kernels.window import Window, WindowAxis
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.input_type import Convolutional, InputType
from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.conf.options import DropoutOptions
from daskdl.nn.conf.values import CountPair, IndexPair
from daskdl.nn.layers.input_kinds import images_in
from daskdl.nn.run import Backward, Run


class SpaceToBatch(DropoutOptions, LayerConf):
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

    def forward(self, run: Run, x: FloatArray) -> tuple[FloatArray, Backward]:
        """Turn cells of `x`, (batch, height, width, channels), into images."""
        sizes = enumerate(x.shape[1:3])
        window = Window(*(self.along(axis, size) for axis, size in sizes))

        def backward(grad_out: FloatArray) -> FloatArray:
            grad_x = run.lent("grad_x", x.shape, grad_out.dtype)
            return space_to_batch_backward(grad_out, window, grad_x=grad_x)

        shape = (x.shape[0] * window.n_cells, *window.out, x.shape[3])
        out = run.lent("output", shape, x.dtype)
        return space_to_batch_forward(x, window, out=out), backward

    def feed_forward_mask(self, run: Run, mask: FloatArray | None) -> FloatArray | None:
        """Return the mask of examples, (batch, 1), for all images made of each."""
        if mask is None:
            return None
        n_cells = self.blocks[0] * self.blocks[1]
        out = run.buffer("mask", (n_cells * len(mask), *mask.shape[1:]), mask.dtype)
        out.reshape(n_cells, *mask.shape)[...] = mask
        return out
