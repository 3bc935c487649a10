"""The preprocessor that makes a row of each volume."""

from typing import Literal

from daskdl.arrays.namespace import FloatArray
from daskdl.nn.conf.axes import is_channels_first
from daskdl.nn.conf.input_type import (
    Convolutional3D,
    FeedForward,
    InputType,
    VolumeFormat,
)
from daskdl.nn.conf.layer import PreprocessorConf
from daskdl.nn.conf.values import Count
from daskdl.nn.preprocessors.arrangement import (
    agreed_sizes,
    check_kind,
    flatten,
    row_shape,
    unflatten,
)
from daskdl.nn.preprocessors.preprocessor import Preprocessor


class Cnn3DToFeedForward(PreprocessorConf):
    """Make a row of each volume.

    Parameters
    ----------
    depth, height, width, channels : int, optional
        Of the volumes; inferred.
    data_format : {"NCDHW", "NDHWC"}
        What files say of the volumes. The order of a row, channel by channel or
        cell by cell, is that of the volumes that come; files contradict
        themselves here.
    """

    type: Literal["cnn3d_to_feed_forward"] = "cnn3d_to_feed_forward"
    depth: Count | None = None
    height: Count | None = None
    width: Count | None = None
    channels: Count | None = None
    data_format: VolumeFormat = "NCDHW"

    def output_type(self, input_type: InputType) -> FeedForward:
        """Return rows as long as a volume is large; refuse all but volumes."""
        volumes: Convolutional3D = check_kind(input_type, Convolutional3D, "volumes")
        return FeedForward(size=agreed_sizes(volumes, self).n_features)


class Cnn3DToFeedForwardPreprocessor(Preprocessor[Cnn3DToFeedForward]):
    """Volumes as rows."""

    def forward(self, x: FloatArray, *, batch_size: int) -> FloatArray:
        """Return the rows; see :meth:`Preprocessor.forward`."""
        self._check_input(x)
        self._shape, shape = x.shape, row_shape(x)
        if not is_channels_first(self.input_type):
            return x.reshape(shape)
        output: FloatArray = self._buffer("output", shape, x.dtype)
        return flatten(x, output, channels_first=True)

    def backward(self, grad_out: FloatArray) -> FloatArray:
        """Return the gradient as volumes; see :meth:`Preprocessor.backward`."""
        if not is_channels_first(self.input_type):
            return grad_out.reshape(self._shape)
        grad_x: FloatArray = self._buffer("grad_x", self._shape, grad_out.dtype)
        return unflatten(grad_out, grad_x, channels_first=True)
