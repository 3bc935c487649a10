"""The layers that repeat the cells of series, images and volumes."""

from typing import ClassVar, Literal

from daskdl.arrays.namespace import FloatArray
from daskdl.kernels.resize import upsample_backward, upsample_forward
from daskdl.nn.conf.input_type import InputType
from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.conf.options import DropoutOptions
from daskdl.nn.conf.values import Conf, CountPair, CountSingle, CountTriple
from daskdl.nn.layers.input_kinds import Sized
from daskdl.nn.layers.resizing import Passed, resized_buffer, resized_type
from daskdl.nn.run import Run


class UpsamplingConf(Conf):
    """Repeats cells; see its kinds for the options."""

    size: tuple[int, ...]

    def resized(self, axis: int, size: int) -> int:
        """Return the length of an axis of the output."""
        return size * self.size[axis]

    def output_type(self, input_type: InputType) -> Sized:
        """Return series, images or volumes of another size, same channels."""
        return resized_type(self, input_type, len(self.size), self.resized)

    def forward(self, run: Run, x: FloatArray) -> Passed:
        """Repeat the cells of `x`, of shape (batch, ..., channels)."""
        entered = x.shape

        def backward(grad_out: FloatArray) -> FloatArray:
            grad_x = run.lent("grad_x", entered, grad_out.dtype)
            return upsample_backward(grad_out, self.size, run.workspace, grad_x=grad_x)

        out = resized_buffer(run, "output", x, self.resized)
        return upsample_forward(x, self.size, out=out), backward


class Upsampling1D(UpsamplingConf, DropoutOptions, LayerConf):
    """Repeat the time steps of series.

    Parameters
    ----------
    size : int
        How often each step.
    """

    can_be_cut: ClassVar[bool] = True

    type: Literal["upsampling1d"] = "upsampling1d"
    size: CountSingle = (2,)

    def feed_forward_mask(self, run: Run, mask: FloatArray | None) -> FloatArray | None:
        """Return the mask, of shape (batch, time), with each step repeated."""
        if mask is None:
            return None
        cells = mask[:, :, None]
        out = resized_buffer(run, "mask", cells, self.resized)
        return upsample_forward(cells, self.size, out=out)[:, :, 0]


class Upsampling2D(UpsamplingConf, DropoutOptions, LayerConf):
    """Repeat the pixels of images.

    Parameters
    ----------
    size : (int, int) or int
        How often each pixel along height and width; one number means both.
    """

    can_be_cut: ClassVar[bool] = True

    type: Literal["upsampling2d"] = "upsampling2d"
    size: CountPair = (2, 2)


class Upsampling3D(UpsamplingConf, DropoutOptions, LayerConf):
    """Repeat the voxels of volumes.

    Parameters
    ----------
    size : (int, int, int) or int
        How often each voxel along depth, height and width; one number means all
        three.
    """

    can_be_cut: ClassVar[bool] = True

    type: Literal["upsampling3d"] = "upsampling3d"
    size: CountTriple = (2, 2, 2)
