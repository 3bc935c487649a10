"""Where a sliding window lies: sizes, padding and index ranges, without any array."""

from collections.abc import Iterator
from dataclasses import dataclass

Region = tuple[slice, slice, slice, slice]


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
        return min(self.size, self.span - self.before)

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


@dataclass(frozen=True)
class Window:
    """A window that slides over height and width."""

    height: WindowAxis
    width: WindowAxis

    @property
    def is_padded(self) -> bool:
        """Whether some window reaches outside the input."""
        return self.height.is_padded or self.width.is_padded

    @property
    def overlaps(self) -> bool:
        """Whether a cell of the input can lie in more than one window."""
        return any(
            axis.stride < (axis.kernel - 1) * axis.dilation + 1
            for axis in (self.height, self.width)
        )

    @property
    def n_cells(self) -> int:
        """Cells of the kernel."""
        return self.height.kernel * self.width.kernel

    def positions(self) -> Iterator[tuple[Region, Region]]:
        """Yield, for each kernel cell row by row, where it reads and where it writes.

        Both are indices into (batch, height, width, channels): the input's cells under
        the kernel cell, and the windows that have it inside the input.
        """
        everything = slice(None)
        for row in range(self.height.kernel):
            in_rows, out_rows = self.height.ranges(row)
            for column in range(self.width.kernel):
                in_columns, out_columns = self.width.ranges(column)
                yield (
                    (everything, in_rows, in_columns, everything),
                    (everything, out_rows, out_columns, everything),
                )


def window_axis(
    size: int, kernel: int, stride: int, padding: int, dilation: int, mode: str
) -> WindowAxis:
    """Place a window on an axis as DL4J's convolution modes do.

    Parameters
    ----------
    size, kernel, stride, padding, dilation : int
        The axis and the layer's options. `padding` is ignored in mode ``"same"``.
    mode : {"truncate", "strict", "same"}
        ``"same"`` gives ceil(size / stride) windows and puts the odd cell of padding
        behind. The others give floor((size - reach + 2 padding) / stride) + 1 windows
        for a dilated kernel of `reach` cells; whether ``"strict"`` divides is checked
        by the configuration.

    Returns
    -------
    WindowAxis
    """
    reach = (kernel - 1) * dilation + 1
    if mode == "same":
        out = -(-size // stride)
        total = max(0, (out - 1) * stride + reach - size)
        return WindowAxis(size, kernel, stride, dilation, total // 2, out)
    out = (size - reach + 2 * padding) // stride + 1
    return WindowAxis(size, kernel, stride, dilation, padding, out)
