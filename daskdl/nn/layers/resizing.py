"""What the layers share that change the size of series, images or volumes."""

from typing import TypeAlias

from daskdl.arrays.namespace import FloatArray
from daskdl.kernels.resize import Side
from daskdl.nn.conf.axes import with_shape
from daskdl.nn.conf.input_type import InputType
from daskdl.nn.conf.layer import DroppedLayerConf
from daskdl.nn.layers.entering import Sized, entering
from daskdl.nn.run import Backward, Run

Passed: TypeAlias = tuple[FloatArray, Backward]
"""The output, and what takes its gradient back."""


class ResizingConf(DroppedLayerConf):
    """A layer that changes the size of each axis by itself. Masks only pass by."""

    @property
    def n_axes(self) -> int:
        """1 for series, 2 for images, 3 for volumes."""
        raise TypeError(f"{type(self).__name__} does not say what it resizes.")

    def resized(self, axis: int, size: int) -> int:
        """Return how long an axis becomes."""
        raise TypeError(f"{type(self).__name__} does not say how it resizes.")

    def output_type(self, input_type: InputType) -> Sized:
        """Return series, images or volumes of another size, same channels."""
        entered = entering(self, input_type, self.n_axes)
        *sizes, channels = entered.shape
        changed = (
            None if size is None else self.resized(axis, size)
            for axis, size in enumerate(sizes)
        )
        return with_shape(entered, (*changed, channels))

    def buffer_for(self, run: Run, what: str, x: FloatArray) -> FloatArray:
        """Return a buffer for what `x`, (batch, ..., channels), becomes."""
        sizes = enumerate(x.shape[1:-1])
        axes = (self.resized(axis, size) for axis, size in sizes)
        return run.buffer(what, (x.shape[0], *axes, x.shape[-1]), x.dtype)


def sides_of(cells: tuple[int, ...]) -> tuple[Side, ...]:
    """Return cells in front and behind, axis by axis."""
    return tuple(zip(cells[::2], cells[1::2], strict=True))
