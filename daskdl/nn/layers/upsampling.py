"""The layers that repeat the cells of series, images and volumes."""

from typing import Literal

from daskdl.arrays.namespace import FloatArray
from daskdl.kernels.resize import upsample_backward, upsample_forward
from daskdl.nn.conf.values import CountPair, CountSingle, CountTriple
from daskdl.nn.layers.resizing import Passed, ResizingConf
from daskdl.nn.run import Run


class UpsamplingConf(ResizingConf):
    """Repeats cells; see its kinds for the options."""

    size: tuple[int, ...]

    @property
    def n_axes(self) -> int:
        """1 for series, 2 for images, 3 for volumes."""
        return len(self.size)

    def resized(self, axis: int, size: int) -> int:
        """Return how long an axis becomes."""
        return size * self.size[axis]

    def forward(self, run: Run, x: FloatArray) -> Passed:
        """Repeat the cells of `x`, of shape (batch, ..., channels)."""

        def backward(grad_out: FloatArray) -> FloatArray:
            grad_x = run.buffer("grad_x", x.shape, grad_out.dtype)
            return upsample_backward(grad_out, self.size, run.workspace, grad_x=grad_x)

        out = self.buffer_for(run, "output", x)
        return upsample_forward(x, self.size, out=out), backward


class Upsampling1D(UpsamplingConf):
    """Repeat the time steps of series.

    Parameters
    ----------
    size : int
        How often each step.
    """

    type: Literal["upsampling1d"] = "upsampling1d"
    size: CountSingle = (2,)

    def feed_forward_mask(self, run: Run, mask: FloatArray | None) -> FloatArray | None:
        """Return the mask, of shape (batch, time), with each step repeated."""
        if mask is None:
            return None
        cells = mask[:, :, None]
        out = self.buffer_for(run, "mask", cells)
        return upsample_forward(cells, self.size, out=out)[:, :, 0]


class Upsampling2D(UpsamplingConf):
    """Repeat the pixels of images.

    Parameters
    ----------
    size : (int, int) or int
        How often each pixel along height and width; one number means both.
    """

    type: Literal["upsampling2d"] = "upsampling2d"
    size: CountPair = (2, 2)


class Upsampling3D(UpsamplingConf):
    """Repeat the voxels of volumes.

    Parameters
    ----------
    size : (int, int, int) or int
        How often each voxel along depth, height and width; one number means all
        three.
    """

    type: Literal["upsampling3d"] = "upsampling3d"
    size: CountTriple = (2, 2, 2)
