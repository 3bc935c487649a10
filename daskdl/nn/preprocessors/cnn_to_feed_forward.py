"""The preprocessor that makes a row of each image."""

from typing import Literal

from daskdl.arrays.namespace import FloatArray
from daskdl.nn.conf.input_type import Convolutional, FeedForward, ImageFormat, InputType
from daskdl.nn.conf.layer import PreprocessorConf
from daskdl.nn.conf.values import Count
from daskdl.nn.preprocessors.arrangement import (
    agreed_sizes,
    check_format,
    check_kind,
    flatten,
    row_shape,
    unflatten,
)
from daskdl.nn.preprocessors.preprocessor import Preprocessor


class CnnToFeedForward(PreprocessorConf):
    """Make a row of each image.

    Parameters
    ----------
    height, width, channels : int, optional
        Of the images; inferred.
    data_format : {"NCHW", "NHWC"}
        Of the images, and the order of the row: channel by channel, or pixel by pixel.
    """

    type: Literal["cnn_to_feed_forward"] = "cnn_to_feed_forward"
    height: Count | None = None
    width: Count | None = None
    channels: Count | None = None
    data_format: ImageFormat = "NCHW"

    def output_type(self, input_type: InputType) -> FeedForward:
        """Return rows as long as an image is large; refuse all but images."""
        images: Convolutional = check_kind(input_type, Convolutional, "images")
        check_format(images, self.data_format)
        return FeedForward(size=agreed_sizes(images, self).n_features)


class CnnToFeedForwardPreprocessor(Preprocessor[CnnToFeedForward]):
    """Images as rows."""

    def forward(self, x: FloatArray, *, batch_size: int) -> FloatArray:
        """Return the rows; see :meth:`Preprocessor.forward`."""
        self._check_input(x)
        self._shape, shape = x.shape, row_shape(x)
        if self.conf.data_format == "NHWC":
            return x.reshape(shape)
        output: FloatArray = self._buffer("output", shape, x.dtype)
        return flatten(x, output, channels_first=True)

    def backward(self, grad_out: FloatArray) -> FloatArray:
        """Return the gradient as images; see :meth:`Preprocessor.backward`."""
        if self.conf.data_format == "NHWC":
            return grad_out.reshape(self._shape)
        grad_x: FloatArray = self._buffer("grad_x", self._shape, grad_out.dtype)
        return unflatten(grad_out, grad_x, channels_first=True)
