"""The wrapper that applies a layer for rows to each time step."""

from typing import ClassVar, Literal

from daskdl.arrays.namespace import FloatArray
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.input_type import FeedForward, InputType, Recurrent, describe
from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.layers.input_kinds import series_in
from daskdl.nn.layers.wrapper import WrapperConf, through
from daskdl.nn.masks import check_step_mask
from daskdl.nn.run import LayerPass, Run


class TimeDistributed(WrapperConf, LayerConf):
    """Apply a layer for rows to each time step.

    Parameters
    ----------
    layer : layer
        One that takes and gives rows, such as Dense.
    """

    can_be_cut: ClassVar[bool] = True

    type: Literal["time_distributed"] = "time_distributed"

    def inner_type(self, input_type: InputType) -> FeedForward:
        """Return the rows that the steps are."""
        return FeedForward(size=series_in(self, input_type).size)

    def output_type(self, input_type: InputType) -> Recurrent:
        """Return time series of what comes out of the wrapped layer."""
        series = series_in(self, input_type)
        rows = self.wrapped_output(input_type)
        if not isinstance(rows, FeedForward):
            raise PathError(
                f"must give rows, got one that gives {describe(rows)}.", "layer"
            )
        return series.replaced(size=rows.size)

    def forward(self, run: Run, x: FloatArray) -> LayerPass:
        """Compute the output, (batch, time, n_out), of `x` (batch, time, n_in).

        A mask lies in the order of the rows: it drops the steps that it names.
        """
        mask = run.mask
        if mask is not None:
            check_step_mask(mask, x, run.who)
            mask = mask.reshape(-1, 1)
        rows, back = through(run, x.reshape(-1, x.shape[2]), mask=mask)

        def backward(grad_out: FloatArray) -> FloatArray | None:
            grad_rows = back(grad_out.reshape(-1, grad_out.shape[2]))
            return None if grad_rows is None else grad_rows.reshape(x.shape)

        return rows.reshape(*x.shape[:2], rows.shape[1]), backward

    def feed_forward_mask(self, run: Run, mask: FloatArray | None) -> FloatArray | None:
        """Return the mask (batch, time) if the wrapped layer passes one on."""
        return None if super().feed_forward_mask(run, mask) is None else mask
