"""The output layer for time series: one output and one loss at each step."""

from typing import Literal

from daskdl.arrays.namespace import FloatArray
from daskdl.arrays.workspace import Workspace
from daskdl.nn.conf.input_type import InputType, Recurrent
from daskdl.nn.layers.entering import series_in
from daskdl.nn.layers.layer import works_for
from daskdl.nn.layers.output import AffineOutputLayer, OutputConf
from daskdl.nn.masks import rows_of_mask


class RnnOutput(OutputConf):
    """The last layer of a network on time series: one output and loss per step.

    `activation` None means what belongs to the loss, as for :class:`Output`.
    """

    type: Literal["rnn_output"] = "rnn_output"

    def output_type(self, input_type: InputType) -> Recurrent:
        """Return time series of `n_out`; refuse everything else."""
        series = series_in(self, input_type, "Use Output for rows.")
        self.inferred_n_in(series)
        return series.replaced(size=self.n_out)


@works_for(RnnOutput)
class RnnOutputLayer(AffineOutputLayer[RnnOutput]):
    """``activation(x @ W + b)`` of each time step, with the losses summed over time.

    Without a mask of the labels, one that arrives with the input counts. Where one
    arrives, masked steps come out as 0.
    """

    def __init__(
        self, conf: RnnOutput, input_type: InputType, name: str, workspace: Workspace
    ) -> None:
        super().__init__(conf, input_type, name, workspace)
        ignores = "rnn_output_ignores_features_mask" in conf.quirks
        self.zeroes_masked_rows = not ignores

    def _loss_mask(self, mask: FloatArray | None) -> FloatArray | None:
        if self.zeroes_masked_rows:
            mask = super()._loss_mask(mask)
        if mask is None:
            return None
        return rows_of_mask(mask, (*self._leading, self.conf.n_out), self.who)
