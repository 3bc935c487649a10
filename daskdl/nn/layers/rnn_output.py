"""The output layer for time series: one output and one loss at each step."""

from typing import Literal

from daskdl.arrays.namespace import FloatArray
from daskdl.errors import ShapeError
from daskdl.nn.conf.input_type import InputType, Recurrent
from daskdl.nn.conf.layer import (
    refuse_input,
)
from daskdl.nn.layers.output import AffineOutputLayer, OutputConf


class RnnOutput(OutputConf):
    """The last layer of a network on time series: one output and loss per step.

    `activation` None means what belongs to the loss, as for :class:`Output`.
    """

    type: Literal["rnn_output"] = "rnn_output"

    def output_type(self, input_type: InputType) -> Recurrent:
        """Return time series of `n_out`; refuse everything else."""
        if not isinstance(input_type, Recurrent):
            raise refuse_input(self, "time series", input_type, "Use Output for rows.")
        self.inferred_n_in(input_type)
        return input_type.replaced(size=self.n_out)


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
