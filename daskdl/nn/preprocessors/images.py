"""The preprocessors between rows and images or volumes."""

from typing import ClassVar, Literal

from daskdl.arrays.namespace import FloatArray
from daskdl.nn.conf.input_type import (
    Convolutional,
    Convolutional3D,
    FeedForward,
    ImageFormat,
    InputType,
    VolumeFormat,
)
from daskdl.nn.conf.preprocessor import PreprocessorConf
from daskdl.nn.conf.values import Conf, Count
from daskdl.nn.preprocessors.flattening import (
    agreed_sizes,
    check_format,
    check_kind,
    check_length,
    flattened,
    unflattened,
)
from daskdl.nn.run import Reshaped, Run


class OfImages(Conf):
    """Make rows or series of images.

    Parameters
    ----------
    height, width, channels : int, optional
        Of the images; inferred.
    """

    height: Count | None = None
    width: Count | None = None
    channels: Count | None = None

    def n_numbers(self, input_type: InputType, data_format: ImageFormat) -> int:
        """Return the number of values of an image; refuse all other input."""
        images: Convolutional = check_kind(input_type, Convolutional, "images")
        check_format(images, data_format)
        return agreed_sizes(images, self).n_features


class CnnToFeedForward(OfImages, PreprocessorConf):
    """Make a row of each image.

    Parameters
    ----------
    data_format : {"NCHW", "NHWC"}
        Of the images, and the order of the row: channel by channel, or pixel by pixel.
    """

    can_be_cut: ClassVar[bool] = True

    type: Literal["cnn_to_feed_forward"] = "cnn_to_feed_forward"
    data_format: ImageFormat = "NCHW"

    def output_type(self, input_type: InputType) -> FeedForward:
        """Return rows as long as an image is large; refuse all but images."""
        return FeedForward(size=self.n_numbers(input_type, self.data_format))

    def forward(self, run: Run, x: FloatArray) -> Reshaped:
        """Return the rows of `x`, of shape (rows, height, width, channels)."""
        return flattened(run, x, channels_first=self.data_format == "NCHW")


class TensorFlowCnnToFeedForward(OfImages, PreprocessorConf):
    """Make a row of each image, pixel by pixel, though the images are NCHW.

    Only in models that older releases of DL4J imported from Keras.
    """

    can_be_cut: ClassVar[bool] = True

    type: Literal["tensor_flow_cnn_to_feed_forward"] = "tensor_flow_cnn_to_feed_forward"

    def output_type(self, input_type: InputType) -> FeedForward:
        """Return rows as long as an image is large; refuse all but NCHW images."""
        return FeedForward(size=self.n_numbers(input_type, "NCHW"))

    def forward(self, run: Run, x: FloatArray) -> Reshaped:
        """Return `x`, of shape (rows, height, width, channels), as it lies here."""
        return flattened(run, x, channels_first=False)


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

    can_be_cut: ClassVar[bool] = True

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

    def forward(self, run: Run, x: FloatArray) -> Reshaped:
        """Return the rows of `x`, of shape (rows, depth, height, width, channels)."""
        return flattened(run, x, channels_first=run.input_type.is_channels_first)


class FeedForwardToCnn(PreprocessorConf):
    """Make an image of each row, which holds it channel by channel.

    Images go through as they are: flattened ones are images already.

    Parameters
    ----------
    height, width : int
        Of the images.
    channels : int, default 1
        Of the images.
    """

    can_be_cut: ClassVar[bool] = True

    type: Literal["feed_forward_to_cnn"] = "feed_forward_to_cnn"
    height: Count
    width: Count
    channels: Count = 1

    def output_type(self, input_type: InputType) -> Convolutional:
        """Return the images; refuse rows of another length."""
        if isinstance(input_type, Convolutional):
            return agreed_sizes(input_type, self)
        rows: FeedForward = check_kind(input_type, FeedForward, "rows")
        check_length(rows, (self.height, self.width, self.channels))
        return Convolutional(
            height=self.height, width=self.width, channels=self.channels
        )

    def forward(self, run: Run, x: FloatArray) -> Reshaped:
        """Return images (rows, height, width, channels) of `x`, of shape (rows, n)."""
        if x.ndim == 4:
            return x, lambda grad_out: grad_out
        sizes = (self.height, self.width, self.channels)
        return unflattened(run, x, sizes, channels_first=True)


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

    can_be_cut: ClassVar[bool] = True

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

    def forward(self, run: Run, x: FloatArray) -> Reshaped:
        """Return volumes (rows, depth, height, width, channels) of `x`, (rows, n)."""
        if x.ndim == 5:
            return x, lambda grad_out: grad_out
        is_first = self.data_format == "NCDHW"
        return unflattened(run, x, self.sizes, channels_first=is_first)
