"""Sliding windows of layers: sizes, padding and masks."""

from dataclasses import replace
from typing import Annotated, Any, Protocol, TypeVar

from annotated_types import MinLen
from numpy.typing import NDArray

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.kernels.pooling import max_pool_forward
from daskdl.kernels.window import Window, WindowAxis, window_axis
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.names import SeriesConvolutionModeName
from daskdl.nn.conf.values import Count, Index
from daskdl.nn.run import Run

Counts = Annotated[tuple[Count, ...], MinLen(1)]
Indices = Annotated[tuple[Index, ...], MinLen(1)]

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
    def convolution_mode(self) -> SeriesConvolutionModeName:
        """The padding and truncation where kernel and stride do not fit."""


def output_length(
    length: N,
    kernel: int,
    stride: int,
    padding: int,
    dilation: int,
    mode: SeriesConvolutionModeName,
) -> N:
    """Return the number of windows along one axis; not positive if none fits.

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
    """Return the number of cells that a dilated kernel spans."""
    return kernel + (kernel - 1) * (dilation - 1)


def window_sizes(
    layer: Windowed, sizes: tuple[int | None, ...]
) -> tuple[int | None, ...]:
    """Return the output sizes of the windows of `layer`; unknown ones stay unknown.

    Raises
    ------
    OptionError
        If the window does not fit into what is known.
    """
    _check_fits(layer, sizes)
    return tuple(
        None if size is None else _axis(layer, axis, size).out
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
    return Window(*(_axis(conf, axis, size) for axis, size in enumerate(sizes)))


def window_mask(mask: FloatArray, conf: Windowed, run: Run) -> FloatArray:
    """Return the mask of the windows: 1 where a cell of the window is kept.

    Parameters
    ----------
    mask : ndarray of shape (batch, *axes) or (batch, *axes, channels)
        1 keeps, 0 drops. An axis of size 1 stands for all cells along it. Not changed.
    conf : Windowed
        The options of the layer.
    run : Run
        Lends the result.

    Returns
    -------
    mask : ndarray of shape (batch, *windows) or (batch, *windows, channels)
        `mask` itself where windows of mode ``same`` or ``causal`` go on cell by cell.

    References
    ----------
    DL4J's `ConvolutionUtils.cnn1dMaskReduction` and `cnn2dMaskReduction`.
    """
    if conf.convolution_mode in ("same", "causal") and set(conf.stride) == {1}:
        # Each window belongs to a cell: what is kept is not widened.
        return mask
    n_axes = len(conf.kernel_size)
    cells = mask if mask.ndim > n_axes + 1 else mask[..., None]
    window = Window(
        *(_mask_axis(conf, axis, size) for axis, size in enumerate(cells.shape[1:-1]))
    )
    shape = (cells.shape[0], *window.out, cells.shape[-1])
    out = run.buffer("window_mask", shape, mask.dtype)
    winner: NDArray[Any] = run.buffer("window_mask.winner", shape, "uint32")
    max_pool_forward(cells, window, run.workspace, out=out, winner=winner)
    # A window that lies in the padding entirely keeps nothing.
    array_namespace(out).maximum(out, 0, out=out)
    return out if cells is mask else out[..., 0]


def _axis(conf: Windowed, axis: int, size: int) -> WindowAxis:
    options = (conf.kernel_size, conf.stride, conf.padding, conf.dilation)
    return window_axis(size, *(each[axis] for each in options), conf.convolution_mode)


def _mask_axis(conf: Windowed, axis: int, size: int) -> WindowAxis:
    if size == 1:
        return window_axis(1, 1, 1, 0, 1, "truncate")
    windows = _axis(conf, axis, size)
    # No causal mask is padded: its windows begin where those of the series end.
    is_causal = conf.convolution_mode == "causal"
    return replace(windows, before=0) if is_causal else windows


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
