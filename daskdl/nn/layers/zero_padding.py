"""The layers that put zeros around series, images and volumes."""

from typing import ClassVar, Literal

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.kernels.resize import Side, pad_backward, pad_forward
from daskdl.nn.conf.input_type import InputType
from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.conf.options import DropoutOptions
from daskdl.nn.conf.values import Conf, Sides, SidesPair, SidesTriple
from daskdl.nn.layers.input_kinds import Sized
from daskdl.nn.layers.resizing import Passed, resized_buffer, resized_type, sides_of
from daskdl.nn.masks import check_step_mask, lengths_of
from daskdl.nn.run import Run


class PaddingConf(Conf):
    """Puts zeros around; see its kinds for the options."""

    takes_network_dropout: ClassVar[bool] = False

    padding: tuple[int, ...]

    @property
    def sides(self) -> tuple[Side, ...]:
        """Cells in front and behind, axis by axis."""
        return sides_of(self.padding)

    def resized(self, axis: int, size: int) -> int:
        """Return the length of an axis of the output."""
        return size + sum(self.sides[axis])

    def output_type(self, input_type: InputType) -> Sized:
        """Return series, images or volumes of another size, same channels."""
        return resized_type(self, input_type, len(self.sides), self.resized)

    def forward(self, run: Run, x: FloatArray) -> Passed:
        """Put zeros around `x`, of shape (batch, ..., channels)."""
        entered = x.shape

        def backward(grad_out: FloatArray) -> FloatArray:
            grad_x = run.lent("grad_x", entered, grad_out.dtype)
            return pad_backward(grad_out, self.sides, grad_x=grad_x)

        out = resized_buffer(run, "output", x, self.resized)
        return pad_forward(x, self.sides, out=out, value=0.0), backward


class ZeroPadding1D(PaddingConf, DropoutOptions, LayerConf):
    """Put zeros around series, which end with the last step that their mask keeps.

    Parameters
    ----------
    padding : (int, int) or int
        Zeros in front and behind; one number means both.
    """

    can_be_cut: ClassVar[bool] = True

    type: Literal["zero_padding1d"] = "zero_padding1d"
    padding: Sides

    def forward(self, run: Run, x: FloatArray) -> Passed:
        """Put zeros around `x`, of shape (batch, time, features), as its mask keeps it.

        What the mask drops becomes 0.
        """
        mask = run.mask
        if mask is None or not self._uses_mask:
            return super().forward(run, x)
        check_step_mask(mask, x, run.who)
        kept = run.buffer("kept", x.shape, x.dtype)
        array_namespace(x).multiply(x, mask[:, :, None], out=kept)
        output, _ = super().forward(run, kept)

        def backward(grad_out: FloatArray) -> FloatArray:
            grad_x = run.lent("grad_x", x.shape, grad_out.dtype)
            pad_backward(grad_out, self.sides, grad_x=grad_x)
            grad_x *= mask[:, :, None]
            return grad_x

        return output, backward

    def feed_forward_mask(self, run: Run, mask: FloatArray | None) -> FloatArray | None:
        """Return the mask, of shape (batch, time), of the padded series."""
        if mask is None:
            return None
        cells = mask[:, :, None]
        # Where the mask does not tell where a series ends, all that is around is kept.
        around = 0.0 if self._uses_mask else 1.0
        out = resized_buffer(run, "mask", cells, self.resized)
        padded = pad_forward(cells, self.sides, out=out, value=around)[:, :, 0]
        if self._uses_mask:
            self._keep_around(padded, mask)
        return padded

    def _keep_around(self, padded: FloatArray, mask: FloatArray) -> None:
        """Keep the zeros around each series: its last kept step is its end."""
        ((before, behind),) = self.sides
        xp = array_namespace(mask)
        steps = xp.arange(padded.shape[1])
        ends = before + lengths_of(mask)[:, None]
        is_around = (steps < before) | (steps >= ends) & (steps < ends + behind)
        # A series without any step gets none here either.
        xp.copyto(padded, 1, where=is_around & (ends > before))

    @property
    def _uses_mask(self) -> bool:
        return "resizing_ignores_masks" not in self.quirks


class ZeroPadding(PaddingConf, DropoutOptions, LayerConf):
    """Put zeros around images.

    Parameters
    ----------
    padding : (int, int, int, int), (int, int) or int
        Zeros at top, bottom, left and right; two numbers mean height and
        width, one means all sides.
    """

    can_be_cut: ClassVar[bool] = True

    type: Literal["zero_padding"] = "zero_padding"
    padding: SidesPair


class ZeroPadding3D(PaddingConf, DropoutOptions, LayerConf):
    """Put zeros around volumes.

    Parameters
    ----------
    padding : six or three int, or one
        Zeros in front of depth and behind it, the same of height, and of width;
        three numbers mean depth, height and width, one means all sides.
    """

    can_be_cut: ClassVar[bool] = True

    type: Literal["zero_padding3d"] = "zero_padding3d"
    padding: SidesTriple
