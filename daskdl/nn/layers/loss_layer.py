"""The output layer for rows that has no weights: activation and loss."""

from typing import Literal

from daskdl.nn.conf.input_type import FeedForward, InputType
from daskdl.nn.layers.bare_loss import BareLossConf, BareLossLayer
from daskdl.nn.layers.entering import rows_in
from daskdl.nn.layers.layer import works_for


class LossLayer(BareLossConf):
    """The last layer of a network on rows, without weights: activation and loss.

    Parameters
    ----------
    loss : loss
        By name or with options.
    activation : activation, optional
        None means what belongs to the loss, as for
        :class:`~daskdl.nn.layers.output.Output`.
    """

    type: Literal["loss"] = "loss"

    def entering(self, input_type: InputType) -> FeedForward:
        """Return the rows that come in; refuse everything else."""
        hint = "Use RnnLoss for time series and CnnLoss for images."
        return rows_in(self, input_type, hint)


@works_for(LossLayer)
class LossOnlyLayer(BareLossLayer[LossLayer]):
    """``activation(x)`` with a loss.

    Without a mask of the labels, one that arrives with the input counts. Where one
    arrives, masked rows come out as 0.
    """

    masks_output = True
    zeroes_masked_rows = True
