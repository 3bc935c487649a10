"""The layer that applies the mask to its input."""

from typing import ClassVar, Literal

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.nn.conf.input_type import InputType, Recurrent
from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.masks import check_pixels, check_step_mask, column_mask
from daskdl.nn.run import Backward, Run


class Mask(LayerConf):
    """Set masked steps, or examples, to 0; the mask goes on with the output."""

    can_be_cut: ClassVar[bool] = True

    type: Literal["mask"] = "mask"

    def output_type(self, input_type: InputType) -> InputType:
        """Return `input_type`: nothing changes its shape."""
        return input_type

    def forward(self, run: Run, x: FloatArray) -> tuple[FloatArray, Backward]:
        """Apply the mask to `x`, of shape (batch, ..., features)."""
        if run.mask is None:
            return x, lambda grad_out: grad_out
        return masked(run, x, _shaped(run, run.mask, x))


def masked(run: Run, x: FloatArray, factor: FloatArray) -> tuple[FloatArray, Backward]:
    """Return `x`, of any shape, times a factor of as many axes, and the way back."""
    multiply = array_namespace(x).multiply

    def backward(grad_out: FloatArray) -> FloatArray:
        grad_x = run.buffer("grad_x", grad_out.shape, grad_out.dtype)
        multiply(grad_out, factor, out=grad_x)
        return grad_x

    output = run.buffer("output", x.shape, x.dtype)
    multiply(x, factor, out=output)
    return output, backward


def _shaped(run: Run, mask: FloatArray, x: FloatArray) -> FloatArray:
    """Return the mask with as many axes as `x`."""
    if isinstance(run.input_type, Recurrent):
        check_step_mask(mask, x, run.who)
        return mask[:, :, None]
    if mask.ndim == x.ndim > 2:
        check_pixels(mask, x.shape, f"{run.who}: the mask")
        return mask
    column = column_mask(mask, len(x), run.who)
    return column.reshape(len(x), *(1 for _ in x.shape[1:]))
