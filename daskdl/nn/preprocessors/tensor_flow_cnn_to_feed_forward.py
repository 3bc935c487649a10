"""The preprocessor that makes a row of each image in the order of TensorFlow."""

from typing import Literal

from daskdl.arrays.namespace import FloatArray
from daskdl.nn.conf.input_type import Convolutional, FeedForward, InputType
from daskdl.nn.conf.layer import PreprocessorConf
from daskdl.nn.conf.values import Count
from daskdl.nn.preprocessors.arrangement import (
    agreed_sizes,
    check_format,
    check_kind,
    row_shape,
)
from daskdl.nn.preprocessors.preprocessor import Preprocessor


class TensorFlowCnnToFeedForward(PreprocessorConf):
    """Make a row of each image, pixel by pixel, though the images are NCHW.

    Only in models that older releases of DL4J imported from Keras.

    Parameters
    ----------
    height, width, channels : int, optional
        Of the images; inferred.
    """

    type: Literal["tensor_flow_cnn_to_feed_forward"] = "tensor_flow_cnn_to_feed_forward"
    height: Count | None = None
    width: Count | None = None
    channels: Count | None = None

    def output_type(self, input_type: InputType) -> FeedForward:
        """Return rows as long as an image is large; refuse all but NCHW images."""
        images: Convolutional = check_kind(input_type, Convolutional, "images")
        check_format(images, "NCHW")
        return FeedForward(size=agreed_sizes(images, self).n_features)


class TensorFlowCnnToFeedForwardPreprocessor(Preprocessor[TensorFlowCnnToFeedForward]):
    """Images as rows, in the order in which they lie here."""

    def forward(self, x: FloatArray, *, batch_size: int) -> FloatArray:
        """Return the rows; see :meth:`Preprocessor.forward`."""
        self._check_input(x)
        self._shape = x.shape
        return x.reshape(row_shape(x))

    def backward(self, grad_out: FloatArray) -> FloatArray:
        """Return the gradient as images; see :meth:`Preprocessor.backward`."""
        return grad_out.reshape(self._shape)
