"""The sliding window of a layer's configuration."""

from daskdl.kernels.window import Window, window_axis
from daskdl.nn.conf.convolutional import Convolution2D, Subsampling
from daskdl.nn.conf.input_type import InputType


def window_of(conf: Convolution2D | Subsampling, input_type: InputType) -> Window:
    """Return where the kernel of a layer lies on images of (height, width, channels).

    Parameters
    ----------
    conf : Convolution2D or Subsampling
        Kernel, stride, padding, dilation and mode.
    input_type : Convolutional
        The images; the configuration has refused anything else.
    """
    height, width, _ = input_type.shape
    rows, columns = (
        window_axis(
            int(size or 0),
            conf.kernel_size[axis],
            conf.stride[axis],
            conf.padding[axis],
            conf.dilation[axis],
            conf.convolution_mode,
        )
        for axis, size in enumerate((height, width))
    )
    return Window(rows, columns)
