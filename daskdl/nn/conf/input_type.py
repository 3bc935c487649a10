"""What shape of data flows between layers, and how it arrives at the network's door.

Inside, arrays are ``(batch, features)``, ``(batch, time, features)`` or
``(batch, height, width, channels)``. At the border `data_format` rules, by default with
channels first.
"""

import math
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BeforeValidator, Field

from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.values import AnySpelling, Conf, Count, tagged

SeriesFormat = Annotated[Literal["NCW", "NWC"], AnySpelling()]
ImageFormat = Annotated[Literal["NCHW", "NHWC"], AnySpelling()]
VolumeFormat = Annotated[Literal["NCDHW", "NDHWC"], AnySpelling()]


class _Shaped(Conf):
    """What all types share: inside, features or channels are the last axis."""

    @property
    def shape(self) -> tuple[int | None, ...]:
        """Shape of one example inside the network."""
        raise NotImplementedError

    @property
    def is_channels_first(self) -> bool:
        """Whether arrays at the border have features or channels second."""
        data_format: str = vars(self).get("data_format", "")
        return data_format.startswith("NC")

    @property
    def border_shape(self) -> tuple[int | None, ...]:
        """Shape of one example as the caller gives or gets it."""
        inside = self.shape
        return (inside[-1], *inside[:-1]) if self.is_channels_first else inside

    @property
    def n_features(self) -> int:
        """Numbers of one example (or time step) that a dense layer sees."""
        return _product(self, self.shape)


class FeedForward(_Shaped):
    """Rows of numbers, ``(batch, size)``.

    Parameters
    ----------
    size : int or None
        Numbers of a row; None lets it differ, for layers without weights.
    """

    type: Literal["feed_forward"] = "feed_forward"
    size: Count | None = Field(kw_only=False)

    @property
    def shape(self) -> tuple[int | None, ...]:
        """Shape of one example inside the network."""
        return (self.size,)

    def __str__(self) -> str:
        return f"rows of {_size(self.size)}"


class Recurrent(_Shaped):
    """Time series, inside ``(batch, time, size)``.

    Parameters
    ----------
    size : int or None
        Features of one time step; None lets it differ, for what is without weights.
    time_steps : int, optional
        Length of every series; None lets it differ from minibatch to minibatch.
    data_format : {"NCW", "NWC"}
        Axes at the border: (batch, features, time), the default, or (batch, time,
        features).
    """

    type: Literal["recurrent"] = "recurrent"
    size: Count | None = Field(kw_only=False)
    time_steps: Count | None = None
    data_format: SeriesFormat = "NCW"

    @property
    def shape(self) -> tuple[int | None, ...]:
        """Shape of one example inside the network."""
        return (self.time_steps, self.size)

    @property
    def n_features(self) -> int:
        """Numbers of one example (or time step) that a dense layer sees."""
        return _product(self, (self.size,))

    def __str__(self) -> str:
        return f"time series of {_size(self.size)} features"


class Convolutional(_Shaped):
    """Images, inside ``(batch, height, width, channels)``.

    Parameters
    ----------
    height, width : int, optional
        Size of every image; None lets it differ from minibatch to minibatch.
    channels : int
        Number of channels.
    data_format : {"NCHW", "NHWC"}
        Axes at the border: (batch, channels, height, width), the default, or
        (batch, height, width, channels).
    """

    type: Literal["convolutional"] = "convolutional"
    height: Count | None = None
    width: Count | None = None
    channels: Count
    data_format: ImageFormat = "NCHW"

    @property
    def shape(self) -> tuple[int | None, ...]:
        """Shape of one example inside the network."""
        return (self.height, self.width, self.channels)

    def __str__(self) -> str:
        sizes = " x ".join(_size(n) for n in (self.height, self.width))
        return f"images of {sizes} x {self.channels} channels"


class Convolutional3D(_Shaped):
    """Volumes, inside ``(batch, depth, height, width, channels)``.

    Parameters
    ----------
    depth, height, width : int, optional
        Size of every volume; None lets it differ from minibatch to minibatch.
    channels : int
        Number of channels.
    data_format : {"NCDHW", "NDHWC"}
        Axes at the border: (batch, channels, depth, height, width), the default,
        or (batch, depth, height, width, channels).
    """

    type: Literal["convolutional3d"] = "convolutional3d"
    depth: Count | None = None
    height: Count | None = None
    width: Count | None = None
    channels: Count
    data_format: VolumeFormat = "NCDHW"

    @property
    def shape(self) -> tuple[int | None, ...]:
        """Shape of one example inside the network."""
        return (self.depth, self.height, self.width, self.channels)

    def __str__(self) -> str:
        sizes = " x ".join(_size(n) for n in (self.depth, self.height, self.width))
        return f"volumes of {sizes} x {self.channels} channels"


class ConvolutionalFlat(_Shaped):
    """Images that arrive as rows, and become images at the door.

    A row holds the image channel by channel, each row by row.

    Parameters
    ----------
    height, width, channels : int
        Size of every image.
    """

    type: Literal["convolutional_flat"] = "convolutional_flat"
    height: Count = Field(kw_only=False)
    width: Count = Field(kw_only=False)
    channels: Count = Field(kw_only=False)

    @property
    def inside(self) -> Convolutional:
        """The images that the first layer sees."""
        return Convolutional(
            height=self.height, width=self.width, channels=self.channels
        )

    @property
    def shape(self) -> tuple[int | None, ...]:
        """Shape of one example inside the network."""
        return self.inside.shape

    @property
    def border_shape(self) -> tuple[int | None, ...]:
        """Shape of one example as the caller gives or gets it."""
        return (self.n_features,)

    @property
    def n_features(self) -> int:
        """Numbers of one example (or time step) that a dense layer sees."""
        return math.prod((self.height, self.width, self.channels))

    def __str__(self) -> str:
        return f"rows of {self.n_features} (flattened {self.inside})"


InputType: TypeAlias = (
    FeedForward | Recurrent | Convolutional | Convolutional3D | ConvolutionalFlat
)

AnyInputType = Annotated[
    InputType,
    Field(discriminator="type"),
    BeforeValidator(tagged(InputType)),
]


def inside_type(input_type: InputType) -> InputType:
    """Return what the first layer sees of an input of this type."""
    if isinstance(input_type, ConvolutionalFlat):
        return input_type.inside
    return input_type


def features_of(input_type: InputType) -> int:
    """Return the size of the last axis inside: features or channels."""
    return _product(input_type, input_type.shape[-1:])


def is_open(input_type: InputType) -> bool:
    """Return whether nobody knows yet how many numbers a dense layer sees of it."""
    if isinstance(input_type, Recurrent):
        return input_type.size is None
    return None in input_type.shape


def with_features(input_type: InputType, n: int) -> InputType:
    """Return the same type with `n` features or channels."""
    if isinstance(input_type, Convolutional | Convolutional3D | ConvolutionalFlat):
        return input_type.replaced(channels=n)
    return input_type.replaced(size=n)


def describe(input_type: Any) -> str:
    """Return a type for a message: its class, and what it holds."""
    return f"{type(input_type).__name__} ({input_type})"


def _size(size: int | None) -> str:
    return "any" if size is None else str(size)


def _product(input_type: Conf, sizes: tuple[int | None, ...]) -> int:
    known = [size for size in sizes if size is not None]
    if len(known) < len(sizes):
        raise PathError(
            f"must have a known size to be flattened, got {input_type}. Give the size "
            "of the network's input."
        )
    return math.prod(known)
