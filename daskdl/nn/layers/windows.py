"""Sliding windows of layers: what fits, what comes out, where cells lie."""

from typing import Annotated, Any, Protocol, TypeVar

from numpy.typing import NDArray
from pydantic import Field

from daskdl.kernels.window import Window, window_axis
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.names import SeriesConvolutionModeLiteral
from daskdl.nn.conf.values import Count, Index

Counts = Annotated[tuple[Count, ...], Field(min_length=1)]
Indices = Annotated[tuple[Index, ...], Field(min_length=1)]

N = TypeVar("N", int, NDArray[Any])


class Windowed(Protocol):
    """Options of a layer with a window of any number of axes."""

    @property
    def kernel_size(self) -> tuple[int, ...]:
        """Cells of the window."""

    @property
    def stride(self) -> tuple[int, ...]:
        """Steps between windows."""

    @property
    def padding(self) -> tuple[int, ...]:
        """Zeros on both sides."""

    @property
    def dilation(self) -> tuple[int, ...]:
        """Steps between the window's cells."""

    @property
    def convolution_mode(self) -> SeriesConvolutionModeLiteral:
        """What happens where kernel and stride do not fit."""


def output_length(
    length: N,
    kernel: int,
    stride: int,
    padding: int,
    dilation: int,
    mode: SeriesConvolutionModeLiteral,
) -> N:
    """Return how many windows fit along one axis; not positive if none does.

    Parameters
    ----------
    length : int, or ndarray of shape (n,), int
        Of one axis, or of each of several.
    kernel, stride, padding, dilation : int
        `padding` is on both sides.
    mode : {"truncate", "same", "strict", "causal"}
        ``same`` and ``causal`` need no padding and give ``ceil(length / stride)``.
    """
    if mode in ("same", "causal"):
        return -(-length // stride)
    return (length + (2 * padding - reach(kernel, dilation))) // stride + 1


def reach(kernel: int, dilation: int) -> int:
    """Return how many cells a dilated kernel spans."""
    return kernel + (kernel - 1) * (dilation - 1)


def window_sizes(
    layer: Windowed, sizes: tuple[int | None, ...]
) -> tuple[int | None, ...]:
    """Return the sizes after the windows of `layer`; what is unknown stays unknown.

    Raises
    ------
    OptionError
        If the window does not fit into what is known.
    """
    _check_fits(layer, sizes)
    return tuple(
        None
        if size is None
        else output_length(
            size,
            layer.kernel_size[axis],
            layer.stride[axis],
            layer.padding[axis],
            layer.dilation[axis],
            layer.convolution_mode,
        )
        for axis, size in enumerate(sizes)
    )


def window_of(conf: Windowed, sizes: tuple[int, ...]) -> Window:
    """Return where the window of a layer lies on series, images or volumes.

    Parameters
    ----------
    conf : Windowed
        With as many axes as there are sizes.
    sizes : tuple of int
        Of the axes between batch and channels.

    Raises
    ------
    OptionError
        If it does not fit.
    """
    _check_fits(conf, sizes)
    return Window(
        *(
            window_axis(
                size,
                conf.kernel_size[axis],
                conf.stride[axis],
                conf.padding[axis],
                conf.dilation[axis],
                conf.convolution_mode,
            )
            for axis, size in enumerate(sizes)
        )
    )


def _check_fits(layer: Windowed, sizes: tuple[int | None, ...]) -> None:
    if layer.convolution_mode in ("same", "causal"):
        return
    for axis, size in enumerate(sizes):
        if size is None:
            continue
        spans = reach(layer.kernel_size[axis], layer.dilation[axis])
        padded = size + 2 * layer.padding[axis]
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
