"""The preprocessor that makes one row of each time series."""

from typing import Literal

from daskdl.arrays.namespace import FloatArray
from daskdl.errors import ShapeError
from daskdl.nn.conf.axes import is_channels_first
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.input_type import FeedForward, InputType, Recurrent
from daskdl.nn.conf.layer import PreprocessorConf
from daskdl.nn.conf.values import Count
from daskdl.nn.preprocessors.arrangement import check_kind, row_shape
from daskdl.nn.preprocessors.preprocessor import Preprocessor


class KerasFlattenRnn(PreprocessorConf):
    """Make one row of each time series, which must all have one length.

    The order is that of the data format: NCW feature by feature, NWC step by step.

    Parameters
    ----------
    depth : int
        Features of a step.
    ts_length : int
        Time steps.
    """

    type: Literal["keras_flatten_rnn"] = "keras_flatten_rnn"
    depth: Count
    ts_length: Count

    def output_type(self, input_type: InputType) -> FeedForward:
        """Return the rows; refuse series of other sizes."""
        series: Recurrent = check_kind(input_type, Recurrent, "time series")
        if series.size != self.depth:
            raise PathError(
                f"must be {series.size}, the features of a step, got {self.depth}.",
                *("preprocessor", "depth"),
            )
        if series.time_steps not in (None, self.ts_length):
            raise PathError(
                f"must be {series.time_steps}, the steps of the series, got "
                f"{self.ts_length}.",
                *("preprocessor", "ts_length"),
            )
        return FeedForward(size=self.depth * self.ts_length)


class KerasFlattenRnnPreprocessor(Preprocessor[KerasFlattenRnn]):
    """Whole series as rows; no mask goes on, because there is no time left."""

    def forward(self, x: FloatArray, *, batch_size: int) -> FloatArray:
        """Return the rows; see :meth:`Preprocessor.forward`."""
        self._check_input(x)
        if x.shape[1] != self.conf.ts_length:
            raise ShapeError(
                f"{self.who}: x must have {self.conf.ts_length} time steps, got "
                f"{x.shape[1]}."
            )
        if not is_channels_first(self.input_type):
            return x.reshape(row_shape(x))
        features = self._contiguous("output", x.transpose(0, 2, 1))
        return features.reshape(row_shape(x))

    def backward(self, grad_out: FloatArray) -> FloatArray:
        """Return the gradient as series; see :meth:`Preprocessor.backward`."""
        depth, steps = self.conf.depth, self.conf.ts_length
        if not is_channels_first(self.input_type):
            return grad_out.reshape(len(grad_out), steps, depth)
        series = grad_out.reshape(len(grad_out), depth, steps)
        return self._contiguous("grad_x", series.transpose(0, 2, 1))

    def feed_forward_mask(self, mask: FloatArray | None, *, batch_size: int) -> None:
        """Return None: no time is left that a mask (batch, time) could mask."""
        return
