"""What happens at a network's door: the border's data format in, and out again.

DL4J's input preprocessors between layers are not needed: inside, a layer takes the
shape that the one before gives, and flattens images itself.
"""

from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from daskdl.arrays.namespace import FloatArray
from daskdl.nn.conf.input_type import (
    Convolutional,
    Convolutional3D,
    ConvolutionalFlat,
    InputType,
    Recurrent,
)


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
        size = (input_type.channels, input_type.height, input_type.width)
        shape = (len(array), *size)
        return _contiguous(array.reshape(shape).transpose(0, 2, 3, 1), dtype)
    if isinstance(input_type, Recurrent) and input_type.data_format == "NCW":
        return _contiguous(array.transpose(0, 2, 1), dtype)
    if isinstance(input_type, Convolutional) and input_type.data_format == "NCHW":
        return _contiguous(array.transpose(0, 2, 3, 1), dtype)
    if isinstance(input_type, Convolutional3D) and input_type.data_format == "NCDHW":
        return _contiguous(array.transpose(0, 2, 3, 4, 1), dtype)
    return _contiguous(array, dtype)


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
    if isinstance(output_type, Recurrent) and output_type.data_format == "NCW":
        array = array.transpose(0, 2, 1)
    if isinstance(output_type, Convolutional) and output_type.data_format == "NCHW":
        array = array.transpose(0, 3, 1, 2)
    if isinstance(output_type, Convolutional3D) and output_type.data_format == "NCDHW":
        array = array.transpose(0, 4, 1, 2, 3)
    return np.array(array, order="C")


def _contiguous(array: Any, dtype: DTypeLike) -> FloatArray:
    return np.ascontiguousarray(array, dtype=dtype)
