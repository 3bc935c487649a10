"""The preprocessor that makes a row of each time step."""

from typing import Literal

from daskdl.arrays.namespace import FloatArray
from daskdl.nn.conf.input_type import FeedForward, InputType, Recurrent, SeriesFormat
from daskdl.nn.conf.layer import PreprocessorConf
from daskdl.nn.preprocessors.arrangement import (
    check_format,
    check_kind,
    mask_to_rows,
    rows_to_steps,
    steps_to_rows,
)
from daskdl.nn.preprocessors.preprocessor import Preprocessor


class RnnToFeedForward(PreprocessorConf):
    """Make a row of each time step: first those of the first step of all examples.

    Dense layers take series by themselves; this is for other layers of rows.

    Parameters
    ----------
    data_format : {"NCW", "NWC"}
        Of the series.
    """

    type: Literal["rnn_to_feed_forward"] = "rnn_to_feed_forward"
    data_format: SeriesFormat = "NCW"

    def output_type(self, input_type: InputType) -> FeedForward:
        """Return rows of the features of a step; rows stay as they are."""
        if isinstance(input_type, FeedForward):
            return input_type
        series: Recurrent = check_kind(input_type, Recurrent, "time series")
        check_format(series, self.data_format)
        return FeedForward(size=series.size)


class RnnToFeedForwardPreprocessor(Preprocessor[RnnToFeedForward]):
    """Time steps as rows."""

    def forward(self, x: FloatArray, *, batch_size: int) -> FloatArray:
        """Return the steps; see :meth:`Preprocessor.forward`."""
        self._check_input(x)
        self._shape = x.shape
        if x.ndim == 2:
            return x
        batch, steps, n = x.shape
        return steps_to_rows(x, self._buffer("output", (steps * batch, n), x.dtype))

    def backward(self, grad_out: FloatArray) -> FloatArray:
        """Return the gradient as series; see :meth:`Preprocessor.backward`."""
        if len(self._shape) == 2:
            return grad_out
        return rows_to_steps(
            grad_out, self._buffer("grad_x", self._shape, grad_out.dtype)
        )

    def feed_forward_mask(
        self, mask: FloatArray | None, *, batch_size: int
    ) -> FloatArray | None:
        """Return a mask of steps (batch, time) as one of rows (time * batch, 1)."""
        is_rows = isinstance(self.input_type, FeedForward)
        return mask if is_rows else mask_to_rows(mask)
