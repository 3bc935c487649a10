"""What becomes of a mask when a window slides over what it masks."""

from dataclasses import replace
from typing import Any

from numpy.typing import NDArray

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.kernels.pooling import max_pool_forward
from daskdl.kernels.window import Window, WindowAxis, window_axis
from daskdl.nn.layers.windows import Windowed
from daskdl.nn.run import Run


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
        *(_axis(size, axis, conf) for axis, size in enumerate(cells.shape[1:-1]))
    )
    shape = (cells.shape[0], *window.out, cells.shape[-1])
    out = run.buffer("window_mask", shape, mask.dtype)
    winner: NDArray[Any] = run.buffer("window_mask.winner", shape, "uint32")
    max_pool_forward(cells, window, run.workspace, out=out, winner=winner)
    # A window that lies in the padding entirely keeps nothing.
    array_namespace(out).maximum(out, 0, out=out)
    return out if cells is mask else out[..., 0]


def _axis(size: int, axis: int, conf: Windowed) -> WindowAxis:
    if size == 1:
        return window_axis(1, 1, 1, 0, 1, "truncate")
    windows = window_axis(
        size,
        conf.kernel_size[axis],
        conf.stride[axis],
        conf.padding[axis],
        conf.dilation[axis],
        conf.convolution_mode,
    )
    if conf.convolution_mode != "causal":
        return windows
    # No causal mask is padded: its windows begin where those of the series end.
    return replace(windows, before=0)
