"""The layer that cuts off the borders of series."""

from typing import Literal

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.nn.conf.values import Sides
from daskdl.nn.layers.resizing import CroppingConf, CroppingLayer
from daskdl.nn.masks import lengths_of


class Cropping1D(CroppingConf):
    """Cut off the borders of series, which end with the last step that is kept.

    Parameters
    ----------
    cropping : (int, int) or int
        Time steps in front and behind; one number means both.
    """

    type: Literal["cropping1d"] = "cropping1d"
    cropping: Sides


class Cropping1DLayer(CroppingLayer[Cropping1D]):
    """Series without their borders.

    A series ends with the last step that its mask keeps.
    """

    def feed_forward_mask(self, mask: FloatArray | None) -> FloatArray | None:
        """Return the mask of what is left of the series."""
        cropped = super().feed_forward_mask(mask)
        if mask is None or cropped is None:
            return None
        if "resizing_ignores_masks" not in self.conf.quirks:
            left = lengths_of(mask) - sum(self.conf.cropping)
            steps = array_namespace(mask).arange(cropped.shape[1])
            cropped *= steps < left[:, None]
        return cropped
