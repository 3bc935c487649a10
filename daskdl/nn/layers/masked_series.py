"""Series of different lengths under the windows of a layer.

A series ends with the last step that its mask keeps. Windows lie as if nothing followed
it, so that it gives the same numbers whether masked steps are behind it or not.
"""

from dataclasses import replace
from typing import Any, TypeAlias

from numpy.typing import NDArray

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.kernels.pooling import max_pool_forward, sum_pool_forward
from daskdl.kernels.window import Window, window_axis
from daskdl.nn.layers.windows import Windowed, output_length
from daskdl.nn.masks import lengths_of
from daskdl.nn.run import Run

# First step of some series, and which those are as (batch, 1); None is all.
_Rows: TypeAlias = tuple[int, NDArray[Any] | None]


class MaskedSeries:
    """Puts series under the windows of a layer, without their masked steps.

    Parameters
    ----------
    conf : Windowed
        The options of the layer, which has one axis.
    run : Run
        Lends all arrays.

    Notes
    -----
    Mode ``same`` with a stride pads in front by what the length leaves over: there
    series of different lengths have different places in what :meth:`enter` returns.
    """

    __slots__ = ("_conf", "_kept", "_places", "_run")

    def __init__(self, conf: Windowed, run: Run) -> None:
        self._conf = conf
        self._run = run

    def enter(
        self, x: FloatArray, mask: FloatArray, window: Window, *, fill: float = 0.0
    ) -> tuple[FloatArray, Window]:
        """Return the kept steps of series, placed where windows slide over them.

        Parameters
        ----------
        x : ndarray of shape (batch, time, n)
            Not changed.
        mask : ndarray of shape (batch, time)
            1 keeps, 0 drops.
        window : Window
            Where windows lie on series without a mask.
        fill : float
            Stands for what the mask drops.

        Returns
        -------
        series : ndarray of shape (batch, steps, n)
            A buffer; valid until the next call.
        window : Window
            Where windows lie on it.
        """
        self._kept: NDArray[Any] = self._buffer("kept", mask.shape, "bool")
        array_namespace(mask).greater(mask, 0, out=self._kept)
        placed, self._places = self._placed(mask, window)
        series = self._buffer("series", (len(x), *placed.sizes, x.shape[2]), x.dtype)
        series.fill(fill)
        _spread(x, self._kept, self._places, out=series)
        return series, placed

    def leave(self, grad_series: FloatArray) -> FloatArray:
        """Return the gradient in the `x` of :meth:`enter`, 0 where the mask drops it.

        Parameters
        ----------
        grad_series : ndarray of shape (batch, steps, n)
            Gradient in the series that :meth:`enter` returned.

        Returns
        -------
        grad_x : ndarray of shape (batch, time, n)
            A buffer; valid until the next call.
        """
        xp = array_namespace(grad_series)
        batch, steps = self._kept.shape
        shape = (batch, steps, grad_series.shape[2])
        grad_x = self._buffer("grad_x", shape, grad_series.dtype)
        grad_x.fill(0)
        for start, rows in self._places:
            part = grad_series[:, start : start + steps]
            xp.copyto(grad_x, part, where=_among(self._kept, rows))
        return grad_x

    def counts(self, mask: FloatArray, window: Window) -> FloatArray:
        """Return the number of kept steps in each window, at least 1.

        Parameters
        ----------
        mask, window
            As for :meth:`enter`.

        Returns
        -------
        ndarray of shape (batch, windows, 1)
            A buffer; valid until the next call.
        """
        kept = mask > 0
        placed, places = self._placed(mask, window)
        cells = self._buffer("counted", (len(mask), *placed.sizes, 1), mask.dtype)
        cells.fill(0)
        _spread(kept[:, :, None], kept, places, out=cells)
        counts = self._buffer("counts", (len(mask), *placed.out, 1), mask.dtype)
        sum_pool_forward(cells, placed, out=counts)
        array_namespace(mask).maximum(counts, 1, out=counts)
        return counts

    def window_mask(self, mask: FloatArray, window: Window) -> FloatArray:
        """Return the mask of the windows.

        Those are kept that a series has by itself, unless all of its steps in them are
        dropped. Where windows go on step by step, each belongs to a step, and `mask`
        itself is theirs.

        Parameters
        ----------
        mask : ndarray of shape (batch, time)
        window : Window
            Where windows lie on series without a mask.

        Returns
        -------
        ndarray of shape (batch, windows)
            A buffer, or `mask` itself; valid until the next call.
        """
        conf = self._conf
        if conf.convolution_mode in ("same", "causal") and conf.stride == (1,):
            return mask
        xp = array_namespace(mask)
        lengths = lengths_of(mask)
        is_inside = xp.arange(mask.shape[1]) < lengths[:, None]
        placed, places = self._placed(mask, window)
        cells = self._buffer("cells", (len(mask), *placed.sizes, 1), mask.dtype)
        cells.fill(-1)
        _spread(mask[:, :, None], is_inside, places, out=cells)
        shape = (len(mask), *placed.out, 1)
        out = self._buffer("windows", shape, mask.dtype)
        winner = self._buffer("winner", shape, "uint32")
        max_pool_forward(cells, placed, self._run.workspace, out=out, winner=winner)
        # A window that lies on padding entirely counts.
        xp.copyto(out, 1, where=out < 0)
        has_it = xp.arange(shape[1]) < self._n_windows(lengths)[:, None]
        out *= has_it[:, :, None]
        windows: FloatArray = out[:, :, 0]
        return windows

    def _placed(self, mask: FloatArray, window: Window) -> tuple[Window, list[_Rows]]:
        """Return where windows lie on placed series, and where these begin."""
        (axis,) = window.axes
        starts = self._paddings(axis.size)
        if len(starts) < 2:
            return window, [(0, None)]
        room = max(axis.span, axis.size + max(starts))
        lengths = lengths_of(mask)
        last = (self._n_windows(lengths) - 1) * axis.stride
        reach = axis.span - (axis.out - 1) * axis.stride
        padding = array_namespace(mask).maximum(0, last + reach - lengths) // 2
        places: list[_Rows] = []
        for start in starts:
            rows = self._buffer(f"from {start}", (len(mask), 1), "bool")
            array_namespace(mask).equal(padding[:, None], start, out=rows)
            places.append((start, rows))
        return Window(replace(axis, size=room, before=0)), places

    def _paddings(self, steps: int) -> list[int]:
        """Return all that mode ``same`` pads in front of series of up to so many steps.

        It follows from what the stride leaves over.
        """
        conf = self._conf
        (kernel,), (stride,), (dilation,) = conf.kernel_size, conf.stride, conf.dilation
        if conf.convolution_mode != "same":
            return []
        lengths = range(max(1, steps - stride + 1), steps + 1)
        return sorted(
            {
                window_axis(length, kernel, stride, 0, dilation, "same").before
                for length in lengths
            }
        )

    def _n_windows(self, lengths: NDArray[Any]) -> NDArray[Any]:
        """Return the number of windows on series of these lengths (batch,)."""
        conf = self._conf
        (kernel,), (stride,), (dilation,) = conf.kernel_size, conf.stride, conf.dilation
        (padding,), mode = conf.padding, conf.convolution_mode
        numbers = output_length(lengths, kernel, stride, padding, dilation, mode)
        # A series without any step has no windows either.
        return numbers * (lengths > 0)

    def _buffer(self, what: str, shape: tuple[int, ...], dtype: Any) -> FloatArray:
        return self._run.buffer(f"masked {what}", shape, dtype)


def _spread(
    x: NDArray[Any], kept: NDArray[Any], places: list[_Rows], *, out: FloatArray
) -> None:
    """Write the kept steps of each series to its place."""
    steps = x.shape[1]
    for start, rows in places:
        part = out[:, start : start + steps]
        array_namespace(x).copyto(part, x, where=_among(kept, rows))


def _among(kept: NDArray[Any], rows: NDArray[Any] | None) -> NDArray[Any]:
    """Return the kept steps of some series as (batch, time, 1)."""
    among: NDArray[Any] = kept if rows is None else kept & rows
    return among[:, :, None]
