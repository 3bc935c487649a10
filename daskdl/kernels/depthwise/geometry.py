"""A window with its channels, and where its axes lie in scratch with zeros around."""

import math
from dataclasses import dataclass

from daskdl.kernels.window import Window, WindowAxis


@dataclass(frozen=True)
class Geometry:
    """A window with its channels.

    Parameters
    ----------
    window : Window
        Sizes, padding, strides.
    n_in, multiplier : int
        Channels that come in, and kernels of each.
    dtype : str
        ``"float32"`` or ``"float64"``.
    """

    window: Window
    n_in: int
    multiplier: int
    dtype: str

    @property
    def n_out(self) -> int:
        """Channels that come out."""
        return self.n_in * self.multiplier

    @property
    def image(self) -> tuple[int, ...]:
        """Sizes of an image."""
        return tuple(axis.size for axis in self.window.axes)

    @property
    def kernel(self) -> tuple[int, ...]:
        """Cells of the kernel along each axis."""
        return tuple(axis.kernel for axis in self.window.axes)


@dataclass(frozen=True)
class RoomAxis:
    """An axis of scratch: zeros, so many numbers of an array, zeros.

    Parameters
    ----------
    size : int
        Length with the zeros.
    front : int
        How many zeros are in front.
    kept : int
        How many numbers are between them.
    """

    size: int
    front: int
    kept: int


@dataclass(frozen=True)
class Phase:
    """Every stride-th cell of the input along an axis, and the windows they lie in.

    Cell ``first + t * stride`` lies under kernel cell ``kernel + s * step`` of window
    ``window + t - s * back``, if there is such a window.

    Parameters
    ----------
    first, count : int
        The first of these cells, and how many there are.
    kernel, n_kernel, step : int
        The first kernel cell that any of them lies under, how many there are, and how
        far they are from each other.
    window, back : int
        As above; the window may be negative.
    """

    first: int
    count: int
    kernel: int
    n_kernel: int
    step: int
    window: int
    back: int


def phases(axis: WindowAxis) -> list[Phase]:
    """Return the cells of an axis by their remainder by the stride."""
    step = axis.stride // math.gcd(axis.stride, axis.dilation)
    found = []
    for first in range(min(axis.stride, axis.size)):
        here = first + axis.before
        cells = [
            k
            for k in range(axis.kernel)
            if (here - k * axis.dilation) % axis.stride == 0
        ]
        kernel = cells[0] if cells else 0
        found.append(
            Phase(
                first,
                -(-(axis.size - first) // axis.stride),
                kernel,
                len(cells),
                step,
                (here - kernel * axis.dilation) // axis.stride,
                step * axis.dilation // axis.stride,
            )
        )
    return found


def room_of_input(axis: WindowAxis) -> RoomAxis:
    """Return the axis of an input with its padding, or as it is without."""
    if axis.is_padded:
        return RoomAxis(axis.span, axis.before, axis.kept)
    return RoomAxis(axis.size, 0, axis.size)


def room_of_places(axis: WindowAxis) -> RoomAxis:
    """Return the axis of an output with zeros where its phases look for windows."""
    reached = [phase for phase in phases(axis) if phase.n_kernel]
    lowest = (phase.window - (phase.n_kernel - 1) * phase.back for phase in reached)
    highest = (phase.window + phase.count for phase in reached)
    front = max(0, -min(lowest, default=0))
    return RoomAxis(front + max(axis.out, max(highest, default=0)), front, axis.out)
