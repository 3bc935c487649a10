"""The layer that applies the mask to what goes through."""

from typing import Literal

import numpy as np

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.nn.conf.input_type import InputType, Recurrent
from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.layers.layer import Layer
from daskdl.nn.masks import check_pixels, check_step_mask, column_mask


class Mask(LayerConf):
    """Set the steps, or examples, that the mask drops to 0; it goes on from here."""

    type: Literal["mask"] = "mask"

    def output_type(self, input_type: InputType) -> InputType:
        """Return `input_type`: nothing changes its shape."""
        return input_type


class MaskLayer(Layer[Mask]):
    """What goes in, times the mask."""

    def forward(
        self,
        x: FloatArray,
        *,
        training: bool,
        mask: FloatArray | None = None,
        rng: np.random.Generator | None = None,
    ) -> FloatArray:
        """Apply the mask; see :meth:`Layer.forward`."""
        self._check_input(x)
        self._factor = None if mask is None else self._shaped(mask, x)
        return self._times_mask("output", x)

    def backward(self, grad_out: FloatArray) -> FloatArray:
        """Apply the mask to the gradient; see :meth:`Layer.backward`."""
        return self._times_mask("grad_x", grad_out)

    def _times_mask(self, what: str, array: FloatArray) -> FloatArray:
        if self._factor is None:
            return array
        out = self._like(what, array)
        array_namespace(array).multiply(array, self._factor, out=out)
        return out

    def _shaped(self, mask: FloatArray, x: FloatArray) -> FloatArray:
        """Return the mask with as many axes as `x`."""
        if isinstance(self.input_type, Recurrent):
            check_step_mask(mask, x, self.who)
            return mask[:, :, None]
        if mask.ndim == x.ndim > 2:
            check_pixels(mask, x.shape, f"{self.who}: the mask")
            return mask
        column = column_mask(mask, len(x), self.who)
        return column.reshape(len(x), *(1 for _ in x.shape[1:]))
