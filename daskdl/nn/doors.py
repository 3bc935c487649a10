"""What happens at a network's door: the border's data format in, and out again.

DL4J's input preprocessors between layers are not needed: inside, a layer takes the
shape that the one before gives, and flattens images itself.
"""

from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from daskdl.arrays.namespace import FloatArray
from daskdl.nn.conf.axes import dl4j_axes, is_channels_first
from daskdl.nn.conf.input_type import ConvolutionalFlat, InputType


def to_inside(array: Any, input_type: InputType, dtype: DTypeLike) -> FloatArray:
    """Return features or labels as the layers want them.

    Parameters
    ----------
    array : ndarray of shape (batch, *input_type.border_shape)
        Of any real dtype. Not changed.
    input_type : InputType
        How the axes are to be read.
    dtype : dtype
        Of the network.

    Returns
    -------
    ndarray of shape (batch, *input_type.shape), C-contiguous
        `array` itself where nothing has to change; layers do not write into it.
    """
    if isinstance(input_type, ConvolutionalFlat):
        # A flattened image is channel by channel, DL4J's order.
        shape = (input_type.channels, input_type.height, input_type.width)
        array = array.reshape(len(array), *shape)
        input_type = input_type.inside
    if is_channels_first(input_type):
        array = np.moveaxis(array, 1, -1)
    return np.ascontiguousarray(array, dtype=dtype)


def to_border(array: FloatArray, output_type: InputType) -> FloatArray:
    """Return an output as the caller wants it: a new array in the data format.

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
    return np.array(array.transpose(dl4j_axes(output_type)), order="C")
