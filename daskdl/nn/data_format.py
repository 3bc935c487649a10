"""The data format of what users hand over, e.g. channels first, and that of layers.

Inside of a network, features or channels are the last axis. Preprocessors between
layers are not needed: a layer takes the shape that the one before gives, and flattens
images itself.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from daskdl.arrays.namespace import FloatArray
from daskdl.nn.conf.axes import border_axes
from daskdl.nn.conf.input_type import ConvolutionalFlat, FeedForward, InputType
from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.conf.vertex import VertexConf
from daskdl.nn.preprocessors.images import FeedForwardToCnn


def from_data_format(array: Any, input_type: InputType, dtype: DTypeLike) -> FloatArray:
    """Convert features or labels to the axes and dtype that layers take.

    Parameters
    ----------
    array : ndarray of shape (batch, *input_type.border_shape)
        Of any real dtype; or images instead of rows, see :func:`image_shape_of`. Not
        changed.
    input_type : InputType
        How the axes are to be read.
    dtype : dtype
        Of the network.

    Returns
    -------
    ndarray of shape (batch, *input_type.shape), C-contiguous
        `array` itself where nothing has to change; layers do not write into it.
    """
    return np.ascontiguousarray(in_axes_of_layers(array, input_type), dtype=dtype)


def in_axes_of_layers(array: Any, input_type: InputType) -> Any:
    """Return a view with the axes that layers take.

    `array` and the result are those of :func:`from_data_format`, but for the order in
    which the numbers lie, and their type.
    """
    if isinstance(input_type, FeedForward):
        # Images come as they are to who flattens rows the same way.
        # What only vertices read may have any size; -1 says nothing of no examples.
        array = array.reshape(len(array), math.prod(array.shape[1:]))
    elif isinstance(input_type, ConvolutionalFlat):
        # A flattened image is channel by channel.
        shape = (input_type.channels, input_type.height, input_type.width)
        array = array.reshape(len(array), *shape)
        input_type = input_type.inside
    if input_type.is_channels_first:
        array = array.transpose(0, *range(2, array.ndim), 1)
    return array


def image_shape_of(
    input_type: InputType, readers: Sequence[LayerConf | VertexConf]
) -> tuple[int, ...] | None:
    """Return the shape of the images that an input takes in place of flattened rows.

    Parameters
    ----------
    input_type : InputType
        Of a network's input.
    readers : sequence of LayerConf or VertexConf
        What reads it.

    Returns
    -------
    tuple of int or None
        Channels, height and width if everything makes such images of the rows.
    """
    if isinstance(input_type, ConvolutionalFlat):
        return (input_type.channels, input_type.height, input_type.width)
    if not isinstance(input_type, FeedForward):
        return None
    makers = [getattr(reader, "preprocessor", None) for reader in readers]
    shapes = {
        (maker.channels, maker.height, maker.width)
        if isinstance(maker, FeedForwardToCnn)
        else None
        for maker in makers
    }
    return shapes.pop() if len(shapes) == 1 else None


def to_data_format(array: FloatArray, output_type: InputType) -> FloatArray:
    """Convert an output to a new array in the data format of its type.

    Parameters
    ----------
    array : ndarray of shape (batch, *output_type.shape)
        Usually in a workspace, so it is always copied.
    output_type : InputType
        What the output is inside.

    Returns
    -------
    ndarray of shape (batch, *output_type.border_shape), C-contiguous, same dtype
    """
    return np.array(array.transpose(border_axes(output_type)), order="C")
