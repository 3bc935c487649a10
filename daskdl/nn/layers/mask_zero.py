"""The wrapper that masks the steps in which all features have one value."""

from typing import ClassVar, Literal

from daskdl.arrays.namespace import FloatArray
from daskdl.nn.conf.input_type import InputType
from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.conf.values import Real
from daskdl.nn.layers.input_kinds import series_in
from daskdl.nn.layers.wrapper import WrapperConf, through
from daskdl.nn.masks import check_step_mask
from daskdl.nn.run import LayerPass, Run


class MaskZero(WrapperConf, LayerConf):
    """Mask the steps of a recurrent layer in which all features have one value.

    Parameters
    ----------
    layer : layer
        A recurrent layer.
    masking_value : float, default 0.0
        What the features of a step are that is dropped.
    """

    masks_inside: ClassVar[bool] = True
    can_be_cut: ClassVar[bool] = True

    type: Literal["mask_zero"] = "mask_zero"
    masking_value: Real = 0.0

    def output_type(self, input_type: InputType) -> InputType:
        """Return what comes out of the wrapped layer."""
        series_in(self, input_type)
        return self.wrapped_output(input_type)

    def forward(self, run: Run, x: FloatArray) -> LayerPass:
        """Compute the output, (batch, time, n), with a mask that `x` implies.

        It is multiplied by the one that arrives.
        """
        implied = run.buffer("mask", x.shape[:2], x.dtype)
        implied[...] = (x != self.masking_value).any(axis=2)
        if run.mask is not None and not self._masks_inside_only:
            check_step_mask(run.mask, x, run.who)
            implied *= run.mask
        return through(run, x, mask=implied)

    def feed_forward_mask(self, run: Run, mask: FloatArray | None) -> FloatArray | None:
        """Return the mask (batch, time) behind the layer inside."""
        return None if self._masks_inside_only else super().feed_forward_mask(run, mask)

    def step_mask(self, run: Run, mask: FloatArray | None) -> FloatArray | None:
        """Return the mask (batch, time) that the layer inside has used."""
        return run.inner[0].arrived_mask

    @property
    def _masks_inside_only(self) -> bool:
        return "mask_zero_masks_inside_only" in self.quirks
