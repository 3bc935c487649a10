"""Along which axis a softmax works that is no output layer's."""

from daskdl.arrays.namespace import FloatArray
from daskdl.dialects import Quirks
from daskdl.nn.activations.function import ActivationFunction
from daskdl.nn.conf.axes import is_channels_first
from daskdl.nn.conf.input_type import InputType


def as_activated(
    array: FloatArray,
    activation: ActivationFunction,
    input_type: InputType,
    quirks: Quirks,
) -> FloatArray:
    """Return a view of an output whose last axis is the one that an activation sees.

    Parameters
    ----------
    array : ndarray of shape (batch, ..., channels)
        What the activation works on.
    activation : ActivationFunction
        Only a softmax minds.
    input_type : InputType
        Says which axis is the last one at the border.
    quirks : frozenset of str
        A softmax is over the channels, unless ``softmax_along_last_axis`` is in them:
        then it is along the last axis at the border, which is the width of images and
        volumes, or the time, where channels come first.
    """
    if "softmax_along_last_axis" not in quirks or activation.name != "softmax":
        return array
    if not is_channels_first(input_type):
        return array
    swapped: FloatArray = array.swapaxes(-1, -2)
    return swapped
