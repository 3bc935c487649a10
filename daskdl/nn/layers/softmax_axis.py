"""Along which axis a softmax works that is no output layer's."""

from daskdl.arrays.namespace import FloatArray
from daskdl.nn.activations.function import ActivationFunction
from daskdl.nn.conf.axes import is_channels_first
from daskdl.nn.conf.input_type import InputType


def as_activated(
    array: FloatArray, activation: ActivationFunction, input_type: InputType
) -> FloatArray:
    """Return a view of an output whose last axis is the one that an activation sees.

    Parameters
    ----------
    array : ndarray of shape (batch, ..., channels)
        What the activation works on.
    activation : ActivationFunction
        Only a softmax minds.
    input_type : InputType
        Says which axis is the last one in DL4J.

    Notes
    -----
    DL4J takes the last axis of its arrays: where channels come first in its data format
    that is the width of images and volumes, or the time.
    """
    if activation.name != "softmax" or not is_channels_first(input_type):
        return array
    swapped: FloatArray = array.swapaxes(-1, -2)
    return swapped
