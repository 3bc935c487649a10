"""The base of layers that change the size of series, images or volumes."""

from collections.abc import Callable
from typing import TypeAlias

from daskdl.arrays.namespace import FloatArray
from daskdl.kernels.resize import Side
from daskdl.nn.conf.axes import with_shape
from daskdl.nn.conf.input_type import InputType
from daskdl.nn.conf.values import Conf
from daskdl.nn.layers.input_kinds import Sized, sized_in
from daskdl.nn.run import Backward, Run

Passed: TypeAlias = tuple[FloatArray, Backward]
"""The output, and what takes its gradient back."""
Resized: TypeAlias = Callable[[int, int], int]
"""Takes the number of an axis and its size, and returns how long it becomes."""


def resized_type(
    layer: Conf, input_type: InputType, n_axes: int, resized: Resized
) -> Sized:
    """Return series, images or volumes of another size, same channels."""
    entered = sized_in(layer, input_type, n_axes)
    *sizes, channels = entered.shape
    changed = (
        None if size is None else resized(axis, size) for axis, size in enumerate(sizes)
    )
    return with_shape(entered, (*changed, channels))


def resized_buffer(run: Run, what: str, x: FloatArray, resized: Resized) -> FloatArray:
    """Return a buffer for what `x`, (batch, ..., channels), becomes."""
    axes = (resized(axis, size) for axis, size in enumerate(x.shape[1:-1]))
    return run.lent(what, (x.shape[0], *axes, x.shape[-1]), x.dtype)


def sides_of(cells: tuple[int, ...]) -> tuple[Side, ...]:
    """Return cells in front and behind, axis by axis."""
    return tuple(zip(cells[::2], cells[1::2], strict=True))
