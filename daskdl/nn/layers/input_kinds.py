"""The kinds of input that a layer may take: rows, series, images or volumes."""

from collections.abc import Callable
from typing import TypeAlias

from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.input_type import (
    Convolutional,
    Convolutional3D,
    FeedForward,
    InputType,
    Recurrent,
    describe,
)
from daskdl.nn.conf.values import Conf

Sized: TypeAlias = Recurrent | Convolutional | Convolutional3D


def rows_in(layer: Conf, input_type: InputType, hint: str = "") -> FeedForward:
    """Return an input of rows with its type, or refuse other input."""
    if not isinstance(input_type, FeedForward):
        raise refuse_input(layer, "rows", input_type, hint)
    return input_type


def series_in(layer: Conf, input_type: InputType, hint: str = "") -> Recurrent:
    """Return an input of time series with its type, or refuse other input."""
    if not isinstance(input_type, Recurrent):
        raise refuse_input(layer, "time series (Recurrent input)", input_type, hint)
    return input_type


def images_in(layer: Conf, input_type: InputType) -> Convolutional:
    """Return an input of images with its type, or refuse other input."""
    if not isinstance(input_type, Convolutional):
        raise refuse_input(
            layer, "images (Convolutional or ConvolutionalFlat input)", input_type
        )
    return input_type


def volumes_in(layer: Conf, input_type: InputType) -> Convolutional3D:
    """Return an input of volumes with its type, or refuse other input."""
    if not isinstance(input_type, Convolutional3D):
        raise refuse_input(layer, "volumes (Convolutional3D input)", input_type)
    return input_type


_BY_AXES: dict[int, Callable[[Conf, InputType], Sized]] = {
    1: series_in,
    2: images_in,
    3: volumes_in,
}


def sized_in(layer: Conf, input_type: InputType, n_axes: int) -> Sized:
    """Return an input of series, images or volumes, or refuse other input.

    Parameters
    ----------
    layer : Conf
        Named in the refusal.
    input_type : InputType
        What comes in.
    n_axes : int
        1 for series, 2 for images, 3 for volumes.
    """
    return _BY_AXES[n_axes](layer, input_type)


def refuse_input(
    layer: Conf, needs: str, input_type: InputType, hint: str = ""
) -> PathError:
    """Return the refusal of an input that the layer cannot take."""
    kind = type(layer).__name__
    text = f"{kind} needs {needs}, got {describe(input_type)}."
    return PathError(f"{text} {hint}" if hint else text)
