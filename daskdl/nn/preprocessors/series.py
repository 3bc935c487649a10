"""The preprocessors between time series and the rows or images of their steps.

Those of the first step of all examples come first.
"""

from typing import Literal

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.errors import ShapeError
from daskdl.nn.conf.input_type import (
    Convolutional,
    FeedForward,
    InputType,
    Recurrent,
    SeriesFormat,
)
from daskdl.nn.conf.preprocessor import PreprocessorConf
from daskdl.nn.conf.values import Count
from daskdl.nn.preprocessors.flattening import (
    check_format,
    check_kind,
    check_length,
    flattened,
    unflattened,
)
from daskdl.nn.preprocessors.images import OfImages
from daskdl.nn.run import Reshaped, Run


class RnnToFeedForward(PreprocessorConf):
    """Make a row of each time step: first the first step of all examples.

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

    def forward(self, run: Run, x: FloatArray) -> Reshaped:
        """Return rows (time * batch, n) of `x`, of shape (batch, time, n)."""
        if x.ndim == 2:
            return x, lambda grad_out: grad_out
        return _as_rows(run, x)

    def feed_forward_mask(self, run: Run, mask: FloatArray) -> FloatArray:
        """Return a mask of steps (batch, time) as one of rows (time * batch, 1)."""
        is_rows = isinstance(run.input_type, FeedForward)
        return mask if is_rows else _mask_of_rows(mask)


class FeedForwardToRnn(PreprocessorConf):
    """Make time series of rows: first come the first steps of all examples.

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

    def forward(self, run: Run, x: FloatArray) -> Reshaped:
        """Return series (batch, time, n) of `x`, of shape (time * batch, n)."""
        return _as_steps(run, x)

    def feed_forward_mask(self, run: Run, mask: FloatArray) -> FloatArray:
        """Return a mask of rows (time * batch, 1) as one of steps (batch, time)."""
        return _mask_of_steps(run, mask)


class RnnToCnn(PreprocessorConf):
    """Make an image of each time step, which holds it channel by channel.

    The images of the first step of all examples come first.

    Parameters
    ----------
    height, width : int
        Of the images.
    channels : int, default 1
        Of the images.
    data_format : {"NCW", "NWC"}
        Of the series.
    """

    type: Literal["rnn_to_cnn"] = "rnn_to_cnn"
    height: Count
    width: Count
    channels: Count = 1
    data_format: SeriesFormat = "NCW"

    def output_type(self, input_type: InputType) -> Convolutional:
        """Return the images; refuse steps of another length."""
        series: Recurrent = check_kind(input_type, Recurrent, "time series")
        check_format(series, self.data_format)
        check_length(series, (self.height, self.width, self.channels))
        return Convolutional(
            height=self.height, width=self.width, channels=self.channels
        )

    def forward(self, run: Run, x: FloatArray) -> Reshaped:
        """Return images (time * batch, height, width, channels) of `x`.

        `x` is of shape (batch, time, n).
        """
        sizes = (self.height, self.width, self.channels)
        rows, to_steps = _as_rows(run, x, to="rows")
        output, to_rows = unflattened(
            run, rows, sizes, channels_first=True, back="rows"
        )
        return output, lambda grad_out: to_steps(to_rows(grad_out))

    def feed_forward_mask(self, run: Run, mask: FloatArray) -> FloatArray:
        """Return a mask of steps (batch, time) as one of images (time * batch, 1)."""
        return _mask_of_rows(mask)


class CnnToRnn(OfImages, PreprocessorConf):
    """Make a time step of each image, channel by channel.

    The images of the first step of all examples come first.

    Parameters
    ----------
    data_format : {"NCW", "NWC"}
        Of the series.
    """

    type: Literal["cnn_to_rnn"] = "cnn_to_rnn"
    data_format: SeriesFormat = "NCW"

    def output_type(self, input_type: InputType) -> Recurrent:
        """Return the time series; refuse all but images, which must be NCHW."""
        n = self.n_numbers(input_type, "NCHW")
        return Recurrent(size=n, data_format=self.data_format)

    def forward(self, run: Run, x: FloatArray) -> Reshaped:
        """Return series (batch, time, n) of `x`.

        `x` is of shape (time * batch, height, width, channels).
        """
        rows, to_images = flattened(run, x, channels_first=True, to="rows")
        output, to_rows = _as_steps(run, rows, back="rows")
        return output, lambda grad_out: to_images(to_rows(grad_out))

    def feed_forward_mask(self, run: Run, mask: FloatArray) -> FloatArray:
        """Return a mask of rows (time * batch, 1) as one of steps (batch, time)."""
        return _mask_of_steps(run, mask)


def _as_rows(run: Run, series: FloatArray, to: str = "output") -> Reshaped:
    shape = batch, steps, n = series.shape

    def backward(grad_out: FloatArray) -> FloatArray:
        return _rows_to_steps(grad_out, run.lent("grad_x", shape, grad_out.dtype))

    rows = run.lent(to, (steps * batch, n), series.dtype)
    return _steps_to_rows(series, rows), backward


def _as_steps(run: Run, rows: FloatArray, back: str = "grad_x") -> Reshaped:
    shape = rows.shape

    def backward(grad_out: FloatArray) -> FloatArray:
        return _steps_to_rows(grad_out, run.lent(back, shape, grad_out.dtype))

    steps = (run.batch_size, _steps_in(run, rows), shape[1])
    return _rows_to_steps(rows, run.lent("output", steps, rows.dtype)), backward


def _steps_to_rows(series: FloatArray, out: FloatArray) -> FloatArray:
    batch, steps, n = series.shape
    rows = out.reshape(steps, batch, n)
    array_namespace(series).copyto(rows, series.transpose(1, 0, 2))
    return out


def _rows_to_steps(rows: FloatArray, out: FloatArray) -> FloatArray:
    batch, steps, n = out.shape
    array_namespace(rows).copyto(out, rows.reshape(steps, batch, n).transpose(1, 0, 2))
    return out


def _mask_of_rows(mask: FloatArray) -> FloatArray:
    rows: FloatArray = mask.T.reshape(-1, 1)
    return rows


def _mask_of_steps(run: Run, mask: FloatArray) -> FloatArray:
    steps: FloatArray = mask.reshape(-1, run.batch_size).T
    return steps


def _steps_in(run: Run, rows: FloatArray) -> int:
    """Return the number of time steps in rows; refuse no multiple of the examples."""
    if run.batch_size == 0:
        # Nothing says how many; one fits whatever comes behind.
        return 1
    if len(rows) % run.batch_size:
        raise ShapeError(
            f"{run.who}: x must have a multiple of {run.batch_size} rows, the time "
            f"steps of so many examples, got {len(rows)}."
        )
    return len(rows) // run.batch_size
