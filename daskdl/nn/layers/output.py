"""The output layers for rows and for time series: a dense layer with a loss."""

from typing import ClassVar, Literal

from daskdl.arrays.namespace import FloatArray
from daskdl.nn.conf.input_type import FeedForward, InputType, Recurrent
from daskdl.nn.conf.layer import LayerConf, WeightGroup
from daskdl.nn.conf.options import TrainingOptions, WeightOptions
from daskdl.nn.conf.parameters import Parameter
from daskdl.nn.layers.affine import affine
from daskdl.nn.layers.input_kinds import refuse_input, series_in
from daskdl.nn.layers.row_loss import RowLossConf
from daskdl.nn.masks import rows_of_mask
from daskdl.nn.run import Backward, Run


class OutputConf(WeightGroup):
    """A dense layer with a loss.

    Parameters
    ----------
    has_bias : bool
        Whether a bias is added.
    """

    owns_preout: ClassVar[bool] = True

    has_bias: bool = True

    def parameters(self, input_type: InputType) -> tuple[Parameter, ...]:
        """Return W (n_in, n_out) and b (n_out,)."""
        return self.dense_parameters(input_type, has_bias=self.has_bias)

    def preout(self, run: Run, x: FloatArray) -> tuple[FloatArray, Backward]:
        """Return ``x @ W + b``, (rows, n_out); see :meth:`RowLossConf.preout`."""
        return affine(run, x)


class Output(OutputConf, RowLossConf, WeightOptions, TrainingOptions, LayerConf):
    """The last layer of a network on rows: a dense layer with a loss.

    `activation` None means what belongs to the loss: softmax to ``mcxent``,
    ``negativeloglikelihood`` and ``kl_divergence``, sigmoid to ``xent``, identity to
    the others. With ``poisson`` it must be given, e.g. ``softplus``: what comes out
    must be above 0. See `validate_output_layer` of the network.
    """

    can_be_cut: ClassVar[bool] = True

    type: Literal["output"] = "output"

    def output_type(self, input_type: InputType) -> FeedForward:
        """Return rows of `n_out`; refuse time series."""
        if isinstance(input_type, Recurrent):
            hint = (
                "Use RnnOutput for one output per time step, or put GlobalPooling "
                "before it for one per series."
            )
            raise refuse_input(self, "rows or images", input_type, hint)
        self.inferred_n_in(input_type)
        return FeedForward(size=self.n_out)


class RnnOutput(OutputConf, RowLossConf, WeightOptions, TrainingOptions, LayerConf):
    """The last layer of a network on time series: one output and loss per step.

    `activation` None means what belongs to the loss, as for :class:`Output`. The losses
    of the time steps are summed, and masked steps come out as 0.
    """

    can_be_cut: ClassVar[bool] = True

    type: Literal["rnn_output"] = "rnn_output"

    def output_type(self, input_type: InputType) -> Recurrent:
        """Return time series of `n_out`; refuse everything else."""
        series = series_in(self, input_type, "Use Output for rows.")
        self.inferred_n_in(series)
        return series.replaced(size=self.n_out)

    @property
    def zeroes_masked_rows(self) -> bool:
        """Whether masked steps come out as 0."""
        return "rnn_output_ignores_features_mask" not in self.quirks

    @property
    def reads_features_mask(self) -> bool:
        """Whether the mask that arrives counts in the loss where labels have none."""
        return self.zeroes_masked_rows

    def loss_mask(
        self, run: Run, mask: FloatArray, shape: tuple[int, ...]
    ) -> FloatArray:
        """Return a mask of steps, (rows, 1); see :meth:`RowLossConf.loss_mask`."""
        return rows_of_mask(mask, shape, run.who)
