"""The wrapper that masks the steps in which all features have one value."""

from typing import Literal

import numpy as np

from daskdl.arrays.namespace import FloatArray
from daskdl.arrays.workspace import Workspace
from daskdl.nn.conf.input_type import InputType
from daskdl.nn.conf.values import Real
from daskdl.nn.layers.entering import series_in
from daskdl.nn.layers.layer import works_for
from daskdl.nn.layers.wrapper import WrapperConf, WrapperLayer
from daskdl.nn.masks import check_step_mask


class MaskZero(WrapperConf):
    """Mask the steps of a recurrent layer in which all features have one value.

    Parameters
    ----------
    layer : layer
        A recurrent layer.
    masking_value : float, default 0.0
        What the features of a step are that is dropped.
    """

    type: Literal["mask_zero"] = "mask_zero"
    masking_value: Real = 0.0

    def output_type(self, input_type: InputType) -> InputType:
        """Return what comes out of the wrapped layer."""
        series_in(self, input_type)
        return self.wrapped_output(input_type)


@works_for(MaskZero)
class MaskZeroLayer(WrapperLayer[MaskZero]):
    """A recurrent layer with the mask that its input implies, and the one that arrives.

    What both keep goes on as mask.
    """

    def __init__(
        self, conf: MaskZero, input_type: InputType, name: str, workspace: Workspace
    ) -> None:
        super().__init__(conf, input_type, name, workspace)
        self.inner.use_mask()
        self._masks_inside_only = "mask_zero_masks_inside_only" in conf.quirks
        self._implied: FloatArray | None = None

    def forward(
        self,
        x: FloatArray,
        *,
        training: bool,
        mask: FloatArray | None = None,
        rng: np.random.Generator | None = None,
    ) -> FloatArray:
        """Compute the output with a mask of its own; see :meth:`Layer.forward`."""
        self._check_input(x)
        self._implied = self._mask_of(x)
        if mask is not None and not self._masks_inside_only:
            check_step_mask(mask, x, self.who)
            self._implied *= mask
        return self._inner_forward(x, training=training, mask=self._implied, rng=rng)

    def feed_forward_mask(self, mask: FloatArray | None) -> FloatArray | None:
        """Return the mask behind the layer inside.

        See :meth:`Layer.feed_forward_mask`.
        """
        return None if self._masks_inside_only else self._mask_behind

    def step_mask(self, mask: FloatArray | None) -> FloatArray | None:
        """Return the mask (batch, time) that the layer inside has used."""
        return self._implied

    def _mask_of(self, x: FloatArray) -> FloatArray:
        mask: FloatArray = self._buffer("mask", x.shape[:2], x.dtype)
        mask[...] = (x != self.conf.masking_value).any(axis=2)
        return mask
