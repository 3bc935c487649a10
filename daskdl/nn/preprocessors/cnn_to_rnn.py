"""The preprocessor that makes time series of the images that their steps were."""

from typing import Literal

from daskdl.arrays.namespace import FloatArray
from daskdl.nn.conf.input_type import Convolutional, InputType, Recurrent, SeriesFormat
from daskdl.nn.conf.layer import PreprocessorConf
from daskdl.nn.conf.values import Count
from daskdl.nn.preprocessors.arrangement import (
    agreed_sizes,
    check_format,
    check_kind,
    flatten,
    mask_to_steps,
    row_shape,
    rows_to_steps,
    steps_in,
    steps_to_rows,
    unflatten,
)
from daskdl.nn.preprocessors.preprocessor import Preprocessor


class CnnToRnn(PreprocessorConf):
    """Make a time step of each image, channel by channel.

    The images of the first step of all examples come first.

    Parameters
    ----------
    height, width, channels : int, optional
        Of the images; inferred.
    data_format : {"NCW", "NWC"}
        Of the series.
    """

    type: Literal["cnn_to_rnn"] = "cnn_to_rnn"
    height: Count | None = None
    width: Count | None = None
    channels: Count | None = None
    data_format: SeriesFormat = "NCW"

    def output_type(self, input_type: InputType) -> Recurrent:
        """Return the time series; refuse all but images, which must be NCHW."""
        images: Convolutional = check_kind(input_type, Convolutional, "images")
        check_format(images, "NCHW")
        n = agreed_sizes(images, self).n_features
        return Recurrent(size=n, data_format=self.data_format)


class CnnToRnnPreprocessor(Preprocessor[CnnToRnn]):
    """Images as time steps; as many series as the minibatch has examples."""

    def forward(self, x: FloatArray, *, batch_size: int) -> FloatArray:
        """Return the series; see :meth:`Preprocessor.forward`."""
        self._check_input(x)
        self._shape = x.shape
        steps = steps_in(x, batch_size, self.who)
        shape = row_shape(x)
        rows: FloatArray = self._buffer("rows", shape, x.dtype)
        flatten(x, rows, channels_first=True)
        series = (batch_size, steps, shape[1])
        return rows_to_steps(rows, self._buffer("output", series, x.dtype))

    def backward(self, grad_out: FloatArray) -> FloatArray:
        """Return the gradient as images; see :meth:`Preprocessor.backward`."""
        shape = (self._shape[0], grad_out.shape[2])
        rows = steps_to_rows(grad_out, self._buffer("rows", shape, grad_out.dtype))
        grad_x: FloatArray = self._buffer("grad_x", self._shape, grad_out.dtype)
        return unflatten(rows, grad_x, channels_first=True)

    def feed_forward_mask(
        self, mask: FloatArray | None, *, batch_size: int
    ) -> FloatArray | None:
        """Return a mask of rows (time * batch, 1) as one of steps (batch, time)."""
        return mask_to_steps(mask, batch_size)
