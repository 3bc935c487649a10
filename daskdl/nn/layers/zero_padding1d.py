"""The layer that puts zeros around series."""

from typing import Literal

import numpy as np

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.arrays.workspace import Workspace
from daskdl.nn.conf.input_type import InputType
from daskdl.nn.conf.values import Sides
from daskdl.nn.layers.resizing import PaddingConf, PaddingLayer
from daskdl.nn.masks import check_step_mask, lengths_of


class ZeroPadding1D(PaddingConf):
    """Put zeros around series, which end with the last step that their mask keeps.

    Parameters
    ----------
    padding : (int, int) or int
        Zeros in front and behind; one number means both.
    """

    type: Literal["zero_padding1d"] = "zero_padding1d"
    padding: Sides


class ZeroPadding1DLayer(PaddingLayer[ZeroPadding1D]):
    """Series with zeros around.

    A series ends with the last step that its mask keeps, and what the mask drops
    becomes 0.
    """

    def __init__(
        self,
        conf: ZeroPadding1D,
        input_type: InputType,
        name: str,
        workspace: Workspace,
    ) -> None:
        super().__init__(conf, input_type, name, workspace)
        self._uses_mask = "resizing_ignores_masks" not in conf.quirks
        self._mask: FloatArray | None = None

    def forward(
        self,
        x: FloatArray,
        *,
        training: bool,
        mask: FloatArray | None = None,
        rng: np.random.Generator | None = None,
    ) -> FloatArray:
        """Compute the output; see :meth:`Layer.forward`."""
        self._mask = mask if self._uses_mask else None
        if self._mask is not None:
            self._check_input(x)
            check_step_mask(mask, x, self.who)
            kept = self._like("kept", x)
            x = array_namespace(x).multiply(x, self._mask[:, :, None], out=kept)
        return super().forward(x, training=training, mask=mask, rng=rng)

    def backward(self, grad_out: FloatArray) -> FloatArray:
        """Compute the gradient; see :meth:`Layer.backward`."""
        grad_x = super().backward(grad_out)
        if self._mask is not None:
            grad_x *= self._mask[:, :, None]
        return grad_x

    def feed_forward_mask(self, mask: FloatArray | None) -> FloatArray | None:
        """Return the mask of the padded series."""
        if mask is None or not self._uses_mask:
            return super().feed_forward_mask(mask)
        ((before, behind),) = self.conf.sides
        n_steps = mask.shape[1]
        shape = (len(mask), before + n_steps + behind)
        padded: FloatArray = self._buffer("mask", shape, mask.dtype)
        padded.fill(0)
        padded[:, before : before + n_steps] = mask
        xp = array_namespace(mask)
        steps, ends = xp.arange(shape[1]), before + lengths_of(mask)[:, None]
        is_around = (steps < before) | (steps >= ends) & (steps < ends + behind)
        # A series without any step gets none here either.
        xp.copyto(padded, 1, where=is_around & (ends > before))
        return padded
