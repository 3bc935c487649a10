"""A window with the channels of both sides: sizes and strides, without any array."""

import math
from dataclasses import dataclass

from daskdl.kernels.window import Window


@dataclass(frozen=True)
class Geometry:
    """A window with the channels of both sides.

    Parameters
    ----------
    window : Window
        Sizes, padding, strides.
    n_in, n_out : int
        Channels of the input, which windows slide over, and of the output.
    dtype : str
        ``"float32"`` or ``"float64"``.
    """

    window: Window
    n_in: int
    n_out: int
    dtype: str

    @property
    def padded(self) -> tuple[int, ...]:
        """Sizes of what the windows slide over: the image, or it with its padding."""
        if self.window.is_padded:
            return tuple(axis.span for axis in self.window.axes)
        return self.window.sizes

    @property
    def input_strides(self) -> tuple[int, ...]:
        """Strides along the axes of what the windows slide over."""
        return strides(self.padded, self.n_in)

    @property
    def output_strides(self) -> tuple[int, ...]:
        """Strides along the axes of the output."""
        return strides(self.window.out, self.n_out)

    @property
    def image_size(self) -> int:
        """Numbers of an image."""
        return math.prod(self.window.sizes) * self.n_in

    @property
    def output_size(self) -> int:
        """Numbers of the output of an image."""
        return math.prod(self.window.out) * self.n_out

    @property
    def padded_size(self) -> int:
        """Numbers of scratch for one padded image; 0 where there is no padding."""
        return math.prod(self.padded) * self.n_in if self.window.is_padded else 0


def strides(sizes: tuple[int, ...], inner: int) -> tuple[int, ...]:
    """Return the strides of C-contiguous axes in front of `inner` numbers."""
    return tuple(math.prod(sizes[index + 1 :]) * inner for index in range(len(sizes)))
