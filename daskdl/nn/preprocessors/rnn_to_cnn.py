"""The preprocessor that makes an image of each time step."""

from typing import Literal

from daskdl.arrays.namespace import FloatArray
from daskdl.nn.conf.input_type import Convolutional, InputType, Recurrent, SeriesFormat
from daskdl.nn.conf.layer import PreprocessorConf
from daskdl.nn.conf.values import Count
from daskdl.nn.preprocessors.arrangement import (
    check_format,
    check_kind,
    flatten,
    mask_to_rows,
    rows_to_steps,
    steps_to_rows,
    unflatten,
)
from daskdl.nn.preprocessors.feed_forward_to_cnn import check_length
from daskdl.nn.preprocessors.preprocessor import Preprocessor


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


class RnnToCnnPreprocessor(Preprocessor[RnnToCnn]):
    """Time steps as images."""

    def forward(self, x: FloatArray, *, batch_size: int) -> FloatArray:
        """Return the images; see :meth:`Preprocessor.forward`."""
        self._check_input(x)
        self._shape = x.shape
        batch, steps, n = x.shape
        self._rows_shape = (steps * batch, n)
        rows = steps_to_rows(x, self._buffer("rows", self._rows_shape, x.dtype))
        sizes = (self.conf.height, self.conf.width, self.conf.channels)
        output: FloatArray = self._buffer("output", (len(rows), *sizes), x.dtype)
        return unflatten(rows, output, channels_first=True)

    def backward(self, grad_out: FloatArray) -> FloatArray:
        """Return the gradient as series; see :meth:`Preprocessor.backward`."""
        rows: FloatArray = self._buffer("rows", self._rows_shape, grad_out.dtype)
        flatten(grad_out, rows, channels_first=True)
        return rows_to_steps(rows, self._buffer("grad_x", self._shape, grad_out.dtype))

    def feed_forward_mask(
        self, mask: FloatArray | None, *, batch_size: int
    ) -> FloatArray | None:
        """Return a mask of steps (batch, time) as one of images (time * batch, 1)."""
        return mask_to_rows(mask)
