"""The vertex that reads the numbers of an array as another shape."""

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from pydantic import field_validator

from daskdl.arrays.namespace import FloatArray
from daskdl.errors import ShapeError
from daskdl.nn.conf.axes import border_axes, known
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.input_type import (
    Convolutional,
    Convolutional3D,
    FeedForward,
    InputType,
    Recurrent,
)
from daskdl.nn.conf.values import Whole
from daskdl.nn.conf.vertex import VertexConf
from daskdl.nn.run import Arrays, Masks, VertexPass, VertexRun
from daskdl.nn.vertices.inputs import copied

Shape = tuple[Whole, ...]

_ORDERS: dict[str, Literal["C", "F"]] = {"c": "C", "f": "F"}
# By the number of axes: the type, its sizes, and the format with channels last.
_TYPES: dict[int, tuple[Any, tuple[str, ...], str]] = {
    3: (Recurrent, ("size", "time_steps"), "NWC"),
    4: (Convolutional, ("channels", "height", "width"), "NHWC"),
    5: (Convolutional3D, ("channels", "depth", "height", "width"), "NDHWC"),
}


class ReshapeVertex(VertexConf):
    """Read the numbers of the input as an array of another shape.

    Shapes are those of the data format: features or channels come second, unless the
    input has a format that has them last.

    Parameters
    ----------
    new_shape : tuple of int
        The whole shape, examples included, of 2 to 5 axes: rows, time series, images
        or volumes. -1, at most once, stands for what is left.
    order : {"c", "f"}
        Whether the last or the first index runs fastest, in both shapes.
    mask_shape : tuple of int, optional
        The mask's new shape. None stands for what follows from `new_shape`.
    """

    type: Literal["reshape"] = "reshape"
    new_shape: Shape
    order: Literal["c", "f"] = "c"
    mask_shape: Shape | None = None

    @field_validator("new_shape", "mask_shape")
    @classmethod
    def _check_sizes(cls, shape: Shape | None) -> Shape | None:
        if shape is None:
            return None
        if any(size < 1 and size != -1 for size in shape) or shape.count(-1) > 1:
            raise ValueError(
                f"must have sizes from 1 on, and -1 at most once, got {shape}."
            )
        return shape

    @field_validator("new_shape")
    @classmethod
    def _check_axes(cls, shape: Shape) -> Shape:
        if not 2 <= len(shape) <= 5:
            raise ValueError(f"must have 2 to 5 axes, got {shape}.")
        return shape

    def output_type(self, input_types: Sequence[InputType]) -> InputType:
        """Return rows, time series, images or volumes, by the number of axes."""
        came = self.only(input_types)
        sizes = [None if size == -1 else size for size in self._inferred(came)]
        if len(sizes) == 1:
            return FeedForward(size=sizes[0])
        kind, names, channels_last = _TYPES[len(self.new_shape)]
        options: dict[str, Any] = {}
        if border_axes(came)[1] == 1 and not isinstance(came, FeedForward):
            options["data_format"] = channels_last
            sizes = [sizes[-1], *sizes[:-1]]
        if sizes[0] is None:
            raise PathError(
                f"must say how many features or channels there are, which {came} leave "
                f"open, got {self.new_shape}.",
                "new_shape",
            )
        options.update(zip(names, sizes, strict=True))
        reshaped: InputType = kind(**options)
        return reshaped

    def forward(self, run: VertexRun, inputs: Arrays) -> VertexPass:
        """Reshape an array (batch, ...), by the axes of its data format."""
        (x,) = inputs
        axes_in = border_axes(run.input_types[0])
        axes_out = border_axes(run.output_type)
        theirs = x.transpose(axes_in)
        try:
            reshaped = self._reshaped(theirs, self.new_shape)
        except ValueError:
            raise ShapeError(
                f"{run.who}: input must have as many numbers as new_shape "
                f"{self.new_shape}, got shape {theirs.shape}."
            ) from None

        def backward(grad_out: FloatArray) -> list[FloatArray]:
            back = self._reshaped(grad_out.transpose(axes_out), theirs.shape)
            return [copied(run, "grad_x", back.transpose(np.argsort(axes_in)))]

        ours = reshaped.transpose(np.argsort(axes_out))
        return copied(run, "output", ours), backward

    def feed_forward_mask(self, run: VertexRun, masks: Masks) -> FloatArray | None:
        """Return the mask in `mask_shape`.

        Without, a mask of time steps, (batch, time), becomes one of rows, (batch *
        time, 1), where there are no time steps any more, and one of rows one of time
        steps where there are some now.
        """
        (mask,) = masks
        if mask is None:
            return None
        shape, axes = self.mask_shape, border_axes(run.output_type)
        is_of_rows = mask.size == len(mask)
        if shape is None and is_of_rows and isinstance(run.output_type, Recurrent):
            shape = (self.new_shape[0], self.new_shape[axes.index(1)])
        if shape is None and not is_of_rows and len(axes) != 3:
            shape = (-1, 1)
        return mask if shape is None else self._reshaped(mask, shape)

    def _reshaped(self, array: FloatArray, shape: Sequence[int]) -> FloatArray:
        reshaped: FloatArray = array.reshape(tuple(shape), order=_ORDERS[self.order])
        return reshaped

    def _inferred(self, came: InputType) -> list[int]:
        """Return the sizes of an example, with the open one worked out if it can be."""
        sizes = list(self.new_shape[1:])
        if -1 not in sizes or None in came.shape:
            return sizes
        # The examples cannot be left open too: there are as many as before.
        total = math.prod(known(came.shape))
        left = total // math.prod(size for size in sizes if size != -1)
        return [left if size == -1 else size for size in sizes]
