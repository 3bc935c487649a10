"""The output layer for time series: one output and one loss at each step."""

from daskdl.arrays.namespace import FloatArray
from daskdl.errors import ShapeError
from daskdl.nn.conf.layers import RnnOutput
from daskdl.nn.layers.output import AffineOutputLayer


class RnnOutputLayer(AffineOutputLayer[RnnOutput]):
    """``activation(x @ W + b)`` of each time step, with the losses summed over time.

    Only a mask of the labels counts, as in DL4J: the mask of the features does not
    take its place.
    """

    def _loss_mask(self, mask: FloatArray | None) -> FloatArray | None:
        if mask is None:
            return None
        batch, steps = self._x_shape[:2]
        n_out = self.conf.n_out
        if mask.shape == (batch, steps):
            return mask.reshape(-1)
        if mask.shape == (batch, steps, n_out):
            return mask.reshape(-1, n_out)
        raise ShapeError(
            f"{self.who}: the mask of the labels must have shape {(batch, steps)} or "
            f"{(batch, steps, n_out)}, got {mask.shape}."
        )
