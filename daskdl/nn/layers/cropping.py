"""The layers that cut off the borders of series, images and volumes."""

from typing import ClassVar, Literal

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.kernels.resize import Side, crop_backward, crop_forward
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.input_type import InputType
from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.conf.options import DropoutOptions
from daskdl.nn.conf.values import Conf, Sides, SidesPair, SidesTriple
from daskdl.nn.layers.input_kinds import Sized
from daskdl.nn.layers.resizing import Passed, resized_buffer, resized_type, sides_of
from daskdl.nn.masks import lengths_of
from daskdl.nn.run import Run


class CroppingConf(Conf):
    """Cuts off cells at the borders; see its kinds for the options."""

    takes_network_dropout: ClassVar[bool] = False

    cropping: tuple[int, ...]

    @property
    def sides(self) -> tuple[Side, ...]:
        """Cells in front and behind, axis by axis."""
        return sides_of(self.cropping)

    def resized(self, axis: int, size: int) -> int:
        """Return the length of a cropped axis; refuse to crop all of it."""
        left = size - sum(self.sides[axis])
        if left < 1:
            raise PathError(
                f"must leave something of {size} cells, got {self.sides[axis]} of "
                f"{self.cropping}.",
                "cropping",
            )
        return left

    def output_type(self, input_type: InputType) -> Sized:
        """Return series, images or volumes of another size, same channels."""
        return resized_type(self, input_type, len(self.sides), self.resized)

    def forward(self, run: Run, x: FloatArray) -> Passed:
        """Cut off the borders of `x`, of shape (batch, ..., channels)."""
        entered = x.shape

        def backward(grad_out: FloatArray) -> FloatArray:
            grad_x = run.lent("grad_x", entered, grad_out.dtype)
            return crop_backward(grad_out, self.sides, grad_x=grad_x)

        return crop_forward(
            x, self.sides, out=resized_buffer(run, "output", x, self.resized)
        ), backward


class Cropping1D(CroppingConf, DropoutOptions, LayerConf):
    """Cut off the borders of series, which end with the last step that is kept.

    Parameters
    ----------
    cropping : (int, int) or int
        Time steps in front and behind; one number means both.
    """

    can_be_cut: ClassVar[bool] = True

    type: Literal["cropping1d"] = "cropping1d"
    cropping: Sides

    def feed_forward_mask(self, run: Run, mask: FloatArray | None) -> FloatArray | None:
        """Return the mask, of shape (batch, time), of the cropped series.

        A series ends with the last step that its mask keeps.
        """
        if mask is None:
            return None
        cells = mask[:, :, None]
        out = resized_buffer(run, "mask", cells, self.resized)
        cropped = crop_forward(cells, self.sides, out=out)[:, :, 0]
        if "resizing_ignores_masks" not in self.quirks:
            left = lengths_of(mask) - sum(self.cropping)
            steps = array_namespace(mask).arange(cropped.shape[1])
            cropped *= steps < left[:, None]
        return cropped


class Cropping2D(CroppingConf, DropoutOptions, LayerConf):
    """Cut off the borders of images.

    Parameters
    ----------
    cropping : (int, int, int, int), (int, int) or int
        Pixels at top, bottom, left and right; two numbers mean height and
        width, one means all sides.
    """

    can_be_cut: ClassVar[bool] = True

    type: Literal["cropping2d"] = "cropping2d"
    cropping: SidesPair


class Cropping3D(CroppingConf, DropoutOptions, LayerConf):
    """Cut off the borders of volumes.

    Parameters
    ----------
    cropping : six or three int, or one
        Voxels in front of depth and behind it, the same of height, and of width;
        three numbers mean depth, height and width, one means all sides.
    """

    can_be_cut: ClassVar[bool] = True

    type: Literal["cropping3d"] = "cropping3d"
    cropping: SidesTriple
