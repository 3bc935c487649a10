"""The output layer for time series that has no weights: activation and loss."""

from typing import Literal

from daskdl.arrays.namespace import FloatArray
from daskdl.arrays.workspace import Workspace
from daskdl.nn.conf.input_type import InputType, Recurrent
from daskdl.nn.layers.bare_loss import BareLossConf, BareLossLayer
from daskdl.nn.layers.entering import series_in
from daskdl.nn.layers.layer import works_for
from daskdl.nn.masks import rows_of_mask


class RnnLoss(BareLossConf):
    """The last layer of a network on time series, without weights.

    Parameters
    ----------
    loss : loss
        By name or with options.
    activation : activation, optional
        None means what belongs to the loss, as for :class:`Output`.
    """

    type: Literal["rnn_loss"] = "rnn_loss"

    def entering(self, input_type: InputType) -> Recurrent:
        """Return the time series that come in; refuse everything else."""
        return series_in(self, input_type, "Use LossLayer for rows.")


@works_for(RnnLoss)
class RnnLossLayer(BareLossLayer[RnnLoss]):
    """``activation(x)`` of each time step, with the losses summed over time.

    Without a mask of the labels, one that arrives with the input counts. Masked steps
    come out as 0.
    """

    def __init__(
        self, conf: RnnLoss, input_type: InputType, name: str, workspace: Workspace
    ) -> None:
        super().__init__(conf, input_type, name, workspace)
        shows_all = "rnn_loss_shows_masked_steps" in conf.quirks
        self.masks_output = self.zeroes_masked_rows = not shows_all

    def _loss_mask(self, mask: FloatArray | None) -> FloatArray | None:
        mask = super()._loss_mask(mask)
        if mask is None:
            return None
        n_out = self._output.shape[1]
        return rows_of_mask(mask, (*self._leading, n_out), self.who)
