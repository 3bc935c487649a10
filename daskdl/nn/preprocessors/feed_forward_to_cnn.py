"""The preprocessor that makes an image of each row."""

import math
from typing import Literal

from daskdl.arrays.namespace import FloatArray
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.input_type import Convolutional, FeedForward, InputType
from daskdl.nn.conf.layer import PreprocessorConf
from daskdl.nn.conf.values import Count
from daskdl.nn.preprocessors.arrangement import (
    agreed_sizes,
    check_kind,
    flatten,
    unflatten,
)
from daskdl.nn.preprocessors.preprocessor import Preprocessor


class FeedForwardToCnn(PreprocessorConf):
    """Make an image of each row, which holds it channel by channel.

    Images go through as they are: flattened ones became images at the network's door.

    Parameters
    ----------
    height, width : int
        Of the images.
    channels : int, default 1
        Of the images.
    """

    type: Literal["feed_forward_to_cnn"] = "feed_forward_to_cnn"
    height: Count
    width: Count
    channels: Count = 1

    def output_type(self, input_type: InputType) -> Convolutional:
        """Return the images; refuse rows of another length."""
        if isinstance(input_type, Convolutional):
            return agreed_sizes(input_type, self)
        rows: FeedForward = check_kind(input_type, FeedForward, "rows")
        sizes = (self.height, self.width, self.channels)
        check_length(rows, sizes)
        return Convolutional(
            height=self.height, width=self.width, channels=self.channels
        )


class FeedForwardToCnnPreprocessor(Preprocessor[FeedForwardToCnn]):
    """Rows as images."""

    def forward(self, x: FloatArray, *, batch_size: int) -> FloatArray:
        """Return the images; see :meth:`Preprocessor.forward`."""
        self._check_input(x)
        self._shape = x.shape
        if x.ndim == 4:
            return x
        sizes = (self.conf.height, self.conf.width, self.conf.channels)
        output: FloatArray = self._buffer("output", (len(x), *sizes), x.dtype)
        return unflatten(x, output, channels_first=True)

    def backward(self, grad_out: FloatArray) -> FloatArray:
        """Return the gradient as rows; see :meth:`Preprocessor.backward`."""
        if len(self._shape) == 4:
            return grad_out
        grad_x: FloatArray = self._buffer("grad_x", self._shape, grad_out.dtype)
        return flatten(grad_out, grad_x, channels_first=True)


def check_length(rows: InputType, sizes: tuple[int, ...]) -> None:
    """Refuse rows or steps that do not hold an image of these sizes.

    Raises
    ------
    OptionError
        Naming both lengths.
    """
    length = math.prod(sizes)
    if rows.n_features != length:
        text = " * ".join(map(str, sizes))
        raise PathError(
            f"must get {text} = {length} numbers, got {rows}.", "preprocessor"
        )
