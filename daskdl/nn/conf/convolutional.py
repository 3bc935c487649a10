"""Configurations of the layers on images."""

from typing import Literal

from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.input_type import Convolutional, InputType
from daskdl.nn.conf.layer import LayerConf, WeightLayerConf, refuse_input
from daskdl.nn.conf.names import (
    ConvolutionModeLiteral,
    ConvolutionModeName,
    PoolingName,
)
from daskdl.nn.conf.values import CountPair, IndexPair

_NEEDS_IMAGES = "images (Convolutional or ConvolutionalFlat input)"


class Convolution2D(WeightLayerConf):
    """A two-dimensional convolution (cross-correlation, as everywhere).

    Parameters
    ----------
    kernel_size, stride, dilation : (int, int) or int
        Height and width; one number means both.
    padding : (int, int) or int
        Zeros on both sides; not used by mode ``same``.
    convolution_mode : {"truncate", "same", "strict"}
        What happens where kernel and stride do not fit: cut off the rest, pad so
        that the output has ``ceil(size / stride)``, or refuse.
    has_bias : bool
        Whether a bias is added.
    """

    type: Literal["convolution2d"] = "convolution2d"
    kernel_size: CountPair = (5, 5)
    stride: CountPair = (1, 1)
    padding: IndexPair = (0, 0)
    dilation: CountPair = (1, 1)
    convolution_mode: ConvolutionModeName = "truncate"
    has_bias: bool = True

    def inferred_n_in(self, input_type: InputType) -> int:
        """Return the number of channels that come in."""
        return self._agreed_n_in(_images(self, input_type).channels, input_type)

    def output_type(self, input_type: InputType) -> Convolutional:
        """Return images of `n_out` channels."""
        images = _images(self, input_type)
        self.inferred_n_in(images)
        return images.replaced(**_window_output(self, images), channels=self.n_out)

    def parameter_shapes(self, input_type: InputType) -> dict[str, tuple[int, ...]]:
        """Return W (kernel height, kernel width, n_in, n_out) and b (n_out,)."""
        n_in = self.inferred_n_in(input_type)
        shapes: dict[str, tuple[int, ...]] = {
            "W": (*self.kernel_size, n_in, self.n_out)
        }
        if self.has_bias:
            shapes["b"] = (self.n_out,)
        return shapes


class Subsampling(LayerConf):
    """Pooling over windows of an image.

    Parameters
    ----------
    pooling_type : {"max", "avg"}
        What a window becomes. ``max`` ignores padding.
    kernel_size, stride, dilation, padding, convolution_mode
        As for :class:`Convolution2D`.
    include_padding : bool
        Whether ``avg`` divides by the window's size also where it hangs over the
        border, instead of by the cells inside.
    """

    type: Literal["subsampling"] = "subsampling"
    pooling_type: PoolingName = "max"
    kernel_size: CountPair = (2, 2)
    stride: CountPair = (2, 2)
    padding: IndexPair = (0, 0)
    dilation: CountPair = (1, 1)
    convolution_mode: ConvolutionModeName = "truncate"
    include_padding: bool = False

    def output_type(self, input_type: InputType) -> Convolutional:
        """Return smaller images of the same channels."""
        images = _images(self, input_type)
        return images.replaced(**_window_output(self, images))


def output_length(
    length: int,
    kernel: int,
    stride: int,
    padding: int,
    dilation: int,
    mode: ConvolutionModeLiteral,
) -> int:
    """Return how many windows fit along one axis; not positive if none does.

    Parameters
    ----------
    length, kernel, stride, padding, dilation : int
        Of one axis; `padding` is on both sides.
    mode : {"truncate", "same", "strict"}
        ``same`` needs no padding and gives ``ceil(length / stride)``.
    """
    if mode == "same":
        return -(-length // stride)
    return (length - reach(kernel, dilation) + 2 * padding) // stride + 1


def reach(kernel: int, dilation: int) -> int:
    """Return how many cells a dilated kernel spans."""
    return kernel + (kernel - 1) * (dilation - 1)


def _images(layer: LayerConf, input_type: InputType) -> Convolutional:
    if not isinstance(input_type, Convolutional):
        raise refuse_input(layer, _NEEDS_IMAGES, input_type)
    return input_type


def _window_output(
    layer: Convolution2D | Subsampling, images: Convolutional
) -> dict[str, int]:
    """Return height and width after the windows of `layer`."""
    sizes = (images.height, images.width)
    _check_fits(layer, sizes)
    height, width = (
        output_length(
            sizes[axis],
            layer.kernel_size[axis],
            layer.stride[axis],
            layer.padding[axis],
            layer.dilation[axis],
            layer.convolution_mode,
        )
        for axis in (0, 1)
    )
    return {"height": height, "width": width}


def _check_fits(layer: Convolution2D | Subsampling, sizes: tuple[int, int]) -> None:
    if layer.convolution_mode == "same":
        return
    for axis in (0, 1):
        spans = reach(layer.kernel_size[axis], layer.dilation[axis])
        padded = sizes[axis] + 2 * layer.padding[axis]
        if spans > padded:
            raise PathError(
                f"must fit into the input of {sizes} with padding {layer.padding} "
                f"and dilation {layer.dilation}, got {layer.kernel_size}. "
                "Use a smaller kernel, padding, or convolution_mode 'same'.",
                "kernel_size",
            )
        if layer.convolution_mode == "strict" and (padded - spans) % layer.stride[axis]:
            raise PathError(
                f"must divide what the kernel {layer.kernel_size} leaves of the input "
                f"of {sizes} with padding {layer.padding} in convolution_mode "
                f"'strict', got {layer.stride}. Use 'truncate' or 'same'.",
                "stride",
            )
