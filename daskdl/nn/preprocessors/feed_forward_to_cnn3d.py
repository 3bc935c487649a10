"""The preprocessor that makes a volume of each row."""

from typing import Literal

from daskdl.arrays.namespace import FloatArray
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
    check_format,
    check_kind,
    flatten,
    unflatten,
)
from daskdl.nn.preprocessors.feed_forward_to_cnn import check_length
from daskdl.nn.preprocessors.preprocessor import Preprocessor


class FeedForwardToCnn3D(PreprocessorConf):
    """Make a volume of each row. Volumes go through as they are.

    Parameters
    ----------
    depth, height, width : int
        Of the volumes.
    channels : int, default 1
        Of the volumes.
    data_format : {"NCDHW", "NDHWC"}
        Of the volumes, and the order of the row: channel by channel, or cell by cell.
    """

    type: Literal["feed_forward_to_cnn3d"] = "feed_forward_to_cnn3d"
    depth: Count
    height: Count
    width: Count
    channels: Count = 1
    data_format: VolumeFormat = "NCDHW"

    def output_type(self, input_type: InputType) -> Convolutional3D:
        """Return the volumes; refuse rows of another length."""
        if isinstance(input_type, Convolutional3D):
            check_format(input_type, self.data_format)
            return agreed_sizes(input_type, self)
        rows: FeedForward = check_kind(input_type, FeedForward, "rows")
        check_length(rows, self.sizes)
        return Convolutional3D(
            depth=self.depth,
            height=self.height,
            width=self.width,
            channels=self.channels,
            data_format=self.data_format,
        )

    @property
    def sizes(self) -> tuple[int, int, int, int]:
        """Depth, height, width and channels."""
        return (self.depth, self.height, self.width, self.channels)


class FeedForwardToCnn3DPreprocessor(Preprocessor[FeedForwardToCnn3D]):
    """Rows as volumes."""

    def forward(self, x: FloatArray, *, batch_size: int) -> FloatArray:
        """Return the volumes; see :meth:`Preprocessor.forward`."""
        self._check_input(x)
        self._shape = x.shape
        if x.ndim == 5:
            return x
        shape = (len(x), *self.conf.sizes)
        output: FloatArray = self._buffer("output", shape, x.dtype)
        return unflatten(x, output, channels_first=self._channels_first)

    def backward(self, grad_out: FloatArray) -> FloatArray:
        """Return the gradient as rows; see :meth:`Preprocessor.backward`."""
        if len(self._shape) == 5:
            return grad_out
        grad_x: FloatArray = self._buffer("grad_x", self._shape, grad_out.dtype)
        return flatten(grad_out, grad_x, channels_first=self._channels_first)

    @property
    def _channels_first(self) -> bool:
        return self.conf.data_format == "NCDHW"
