"""The preprocessor that makes time series of the rows that their steps were."""

from typing import Literal

from daskdl.arrays.namespace import FloatArray
from daskdl.nn.conf.input_type import FeedForward, InputType, Recurrent, SeriesFormat
from daskdl.nn.conf.layer import PreprocessorConf
from daskdl.nn.preprocessors.arrangement import (
    check_kind,
    mask_to_steps,
    rows_to_steps,
    steps_in,
    steps_to_rows,
)
from daskdl.nn.preprocessors.preprocessor import Preprocessor


class FeedForwardToRnn(PreprocessorConf):
    """Make time series of rows: first come those of the first step of all examples.

    Parameters
    ----------
    data_format : {"NCW", "NWC"}
        Of the series.
    """

    type: Literal["feed_forward_to_rnn"] = "feed_forward_to_rnn"
    data_format: SeriesFormat = "NCW"

    def output_type(self, input_type: InputType) -> Recurrent:
        """Return time series of the same features; refuse all but rows."""
        rows: FeedForward = check_kind(input_type, FeedForward, "rows")
        return Recurrent(size=rows.n_features, data_format=self.data_format)


class FeedForwardToRnnPreprocessor(Preprocessor[FeedForwardToRnn]):
    """Rows as time steps; as many series as the minibatch has examples."""

    def forward(self, x: FloatArray, *, batch_size: int) -> FloatArray:
        """Return the series; see :meth:`Preprocessor.forward`."""
        self._check_input(x)
        self._shape = x.shape
        steps = steps_in(x, batch_size, self.who)
        shape = (batch_size, steps, x.shape[1])
        return rows_to_steps(x, self._buffer("output", shape, x.dtype))

    def backward(self, grad_out: FloatArray) -> FloatArray:
        """Return the gradient as rows; see :meth:`Preprocessor.backward`."""
        return steps_to_rows(
            grad_out, self._buffer("grad_x", self._shape, grad_out.dtype)
        )

    def feed_forward_mask(
        self, mask: FloatArray | None, *, batch_size: int
    ) -> FloatArray | None:
        """Return a mask of rows (time * batch, 1) as one of steps (batch, time)."""
        return mask_to_steps(mask, batch_size)
