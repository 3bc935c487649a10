"""Where a sliding window lies: sizes, padding and index ranges, without any array."""

import itertools
import math
from dataclasses import dataclass
from functools import lru_cache

Region = tuple[slice, ...]


@dataclass(frozen=True)
class WindowAxis:
    """A window that slides along one axis.

    Parameters
    ----------
    size : int
        Cells of the input along the axis.
    kernel, stride, dilation : int
        Cells of the kernel, step between windows, step between the kernel's cells.
    before : int
        Cells of padding in front of the input. What is needed behind it follows.
    out : int
        Number of windows.
    """

    size: int
    kernel: int
    stride: int
    dilation: int
    before: int
    out: int

    @property
    def span(self) -> int:
        """Cells from the start of the first window to the end of the last one."""
        return (self.out - 1) * self.stride + (self.kernel - 1) * self.dilation + 1

    @property
    def is_padded(self) -> bool:
        """Whether some window reaches outside the input."""
        return self.before > 0 or self.span > self.size

    @property
    def kept(self) -> int:
        """Cells of the input, from its first one, that the windows span."""
        return max(0, min(self.size, self.span - self.before))

    def ranges(self, offset: int) -> tuple[slice, slice]:
        """Return the input cells under kernel cell `offset` and the windows they meet.

        Windows whose cell lies in the padding are left out.
        """
        shift = offset * self.dilation - self.before
        first = max(0, -(shift // self.stride))
        last = min(self.out, (self.size - 1 - shift) // self.stride + 1)
        count = max(0, last - first)
        start = first * self.stride + shift
        stop = start + (count - 1) * self.stride + 1 if count else start
        return slice(start, stop, self.stride), slice(first, first + count)

    def counts(self) -> list[int]:
        """Return how many cells of each window lie inside the input."""
        inside = [0] * self.out
        for offset in range(self.kernel):
            _, windows = self.ranges(offset)
            for index in range(windows.start, windows.stop):
                inside[index] += 1
        return inside


@dataclass(frozen=True, init=False)
class Window:
    """A window that slides over one axis or several: time, height and width, volumes.

    Parameters
    ----------
    *axes : WindowAxis
        In the order of the array's axes between batch and channels.
    """

    axes: tuple[WindowAxis, ...]

    def __init__(self, *axes: WindowAxis) -> None:
        object.__setattr__(self, "axes", axes)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Cells of the input along each axis."""
        return tuple(axis.size for axis in self.axes)

    @property
    def kernel(self) -> tuple[int, ...]:
        """Cells of the kernel along each axis."""
        return tuple(axis.kernel for axis in self.axes)

    @property
    def out(self) -> tuple[int, ...]:
        """Number of windows along each axis."""
        return tuple(axis.out for axis in self.axes)

    @property
    def is_padded(self) -> bool:
        """Whether some window reaches outside the input."""
        return any(axis.is_padded for axis in self.axes)

    @property
    def overlaps(self) -> bool:
        """Whether a cell of the input can lie in more than one window."""
        return any(
            axis.stride < (axis.kernel - 1) * axis.dilation + 1 for axis in self.axes
        )

    @property
    def n_cells(self) -> int:
        """Cells of the kernel."""
        return math.prod(self.kernel)

    def positions(self) -> tuple[tuple[Region, Region], ...]:
        """Return, for each kernel cell row by row, where it reads and where it writes.

        Both are indices into (batch, *axes, channels): the input's cells under the
        kernel cell, and the windows that have it inside the input.
        """
        return _positions(self)


# Asked for in every step, and small layers take no longer than the answer.
@lru_cache(maxsize=256)
def _positions(window: Window) -> tuple[tuple[Region, Region], ...]:
    everything = slice(None)
    ranges = ([axis.ranges(k) for k in range(axis.kernel)] for axis in window.axes)
    found = []
    for cell in itertools.product(*ranges):
        inside, windows = zip(*cell, strict=True)
        found.append(
            ((everything, *inside, everything), (everything, *windows, everything))
        )
    return tuple(found)


@lru_cache(maxsize=1024)
def window_axis(
    size: int, kernel: int, stride: int, padding: int, dilation: int, mode: str
) -> WindowAxis:
    """Place a window on an axis as DL4J's convolution modes do.

    Parameters
    ----------
    size, kernel, stride, padding, dilation : int
        The axis and the layer's options. Modes ``"same"`` and ``"causal"`` have a
        padding of their own.
    mode : {"truncate", "strict", "same", "causal"}
        ``"same"`` gives ceil(size / stride) windows and puts the odd cell of padding
        behind; ``"causal"`` gives as many and puts all padding in front, so that no
        window sees what lies behind its last cell. The others give
        floor((size - reach + 2 padding) / stride) + 1 windows for a dilated kernel of
        `reach` cells; whether ``"strict"`` divides is checked by the configuration.

    Returns
    -------
    WindowAxis
    """
    reach = (kernel - 1) * dilation + 1
    if mode == "same":
        out = -(-size // stride)
        total = max(0, (out - 1) * stride + reach - size)
        return WindowAxis(size, kernel, stride, dilation, total // 2, out)
    if mode == "causal":
        out = -(-size // stride)
        return WindowAxis(size, kernel, stride, dilation, reach - 1, out)
    out = (size - reach + 2 * padding) // stride + 1
    return WindowAxis(size, kernel, stride, dilation, padding, out)
