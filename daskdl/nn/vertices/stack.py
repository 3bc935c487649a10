"""The vertices that put minibatches together and take them apart, or other parts."""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from pydantic import ConfigDict, Field, model_validator

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.errors import ShapeError
from daskdl.nn.conf.axes import contradict, known, same_kind
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.input_type import (
    Convolutional,
    InputType,
    Recurrent,
    with_features,
)
from daskdl.nn.conf.values import Count, Index
from daskdl.nn.conf.vertex import VertexConf
from daskdl.nn.masks import stacked_masks
from daskdl.nn.run import Arrays, Masks, VertexPass, VertexRun
from daskdl.nn.vertices.inputs import copied, shape_error


class StackVertex(VertexConf):
    """Put its inputs one below the other, so that they go through the same layers.

    Series that are shorter than others are filled with 0 behind. An
    :class:`UnstackVertex` takes the inputs apart again.
    """

    type: Literal["stack"] = "stack"

    def output_type(self, input_types: Sequence[InputType]) -> InputType:
        """Return the inputs' type; series are as long as the longest."""
        same_kind(input_types)
        first, begin = input_types[0], 0
        if isinstance(first, Recurrent):
            begin = 1
            steps = [other.shape[0] for other in input_types]
            longest = None if None in steps else max(known(steps))
            first = first.replaced(time_steps=longest)
        for other in input_types[1:]:
            if contradict(first.shape[begin:], other.shape[begin:]):
                raise PathError(
                    f"must have one shape, got {first} and {other}.", "inputs"
                )
        return first

    def forward(self, run: VertexRun, inputs: Arrays) -> VertexPass:
        """Copy the examples of all inputs into one array, (rows, ...)."""
        shapes = [array.shape for array in inputs]
        first_fixed = 2 if isinstance(run.output_type, Recurrent) else 1
        if len({shape[first_fixed:] for shape in shapes}) > 1:
            raise shape_error(run, inputs)
        n_rows = sum(shape[0] for shape in shapes)
        # Examples have one shape, but for the steps of series.
        example = max(shape[1:] for shape in shapes)
        output = run.lent("output", (n_rows, *example), inputs[0].dtype)
        output.fill(0)
        for part, array in zip(_parts(output, shapes), inputs, strict=True):
            part[...] = array

        def backward(grad_out: FloatArray) -> list[FloatArray]:
            parts = enumerate(_parts(grad_out, shapes))
            return [copied(run, f"grad {index}", part) for index, part in parts]

        return output, backward

    def feed_forward_mask(self, run: VertexRun, masks: Masks) -> FloatArray | None:
        """Return the masks one below the other, 0 behind a shorter series.

        As all of them have examples, of shape (rows, time) or (rows, 1). An input
        without a mask keeps everything. Series of one length without masks need none.
        """
        some = next((mask for mask in masks if mask is not None), None)
        is_series = isinstance(run.output_type, Recurrent)
        if some is None:
            is_filled = is_series and len({x.shape[1] for x in run.inputs}) > 1
            if not is_filled or "stack_has_no_mask_of_its_own" in self.quirks:
                return None
            some = run.inputs[0][:, :, 0]
        xp, dtype, sizes = array_namespace(some), some.dtype, some.shape[1:]

        def whole(x: FloatArray) -> FloatArray:
            ones: FloatArray = xp.ones(
                x.shape[:2] if is_series else (len(x), *sizes), dtype
            )
            return ones

        each = zip(run.inputs, masks, strict=True)
        return stacked_masks([whole(x) if mask is None else mask for x, mask in each])

    def batch_size(self, sizes: Sequence[int]) -> int:
        """Return the number of all examples."""
        return sum(sizes)


class UnstackVertex(VertexConf):
    """Take one of the equal parts that a :class:`StackVertex` stacked.

    Parameters
    ----------
    from_ : int
        Which part, from 0; the key is ``from``.
    stack_size : int
        Number of parts.
    """

    model_config = ConfigDict(populate_by_name=True)

    type: Literal["unstack"] = "unstack"
    from_: Index = Field(alias="from")
    stack_size: Count

    @model_validator(mode="after")
    def _check_part(self) -> "UnstackVertex":
        if self.from_ >= self.stack_size:
            raise PathError(
                f"must be less than stack_size, {self.stack_size}, got {self.from_}.",
                "from",
            )
        return self

    def forward(self, run: VertexRun, inputs: Arrays) -> VertexPass:
        """Copy the part's rows of an array (rows, ...)."""
        return _part_of(run, inputs, self._rows(run, len(inputs[0])))

    def feed_forward_mask(self, run: VertexRun, masks: Masks) -> FloatArray | None:
        """Return the part's own rows of the mask, (rows, time) or (rows, 1)."""
        (mask,) = masks
        return None if mask is None else mask[self._rows(run, len(mask))]

    def batch_size(self, sizes: Sequence[int]) -> int:
        """Return the number of examples in one part."""
        return sizes[0] // self.stack_size

    def _rows(self, run: VertexRun, n_rows: int) -> slice:
        size, rest = divmod(n_rows, self.stack_size)
        if rest:
            raise ShapeError(
                f"{run.who}: rows must be {self.stack_size} equal parts "
                f"(stack_size), got {n_rows}."
            )
        return slice(self.from_ * size, (self.from_ + 1) * size)


class SubsetVertex(VertexConf):
    """Take the features (or channels) from `from_` to `to`, both included.

    Parameters
    ----------
    from_, to : int
        First and last of the features or channels, from 0; the key of the first is
        ``from``.
    """

    model_config = ConfigDict(populate_by_name=True)

    can_be_cut: ClassVar[bool] = True

    type: Literal["subset"] = "subset"
    from_: Index = Field(alias="from")
    to: Index

    def output_type(self, input_types: Sequence[InputType]) -> InputType:
        """Return the input's type with fewer features or channels."""
        whole = self.only(input_types)
        n_features = whole.shape[-1]
        last = self.to if n_features is None else n_features - 1
        if not self.from_ <= self.to <= last:
            raise PathError(
                f"must be from {self.from_} (from) to {last}, the last of {whole}, "
                f"got {self.to}.",
                "to",
            )
        return with_features(whole, self.to - self.from_ + 1)

    def forward(self, run: VertexRun, inputs: Arrays) -> VertexPass:
        """Copy the features of an array of shape (batch, ..., features)."""
        return _part_of(run, inputs, (..., slice(self.from_, self.to + 1)))


class PoolHelperVertex(VertexConf):
    """Cut off the first row and the first column of images.

    GoogLeNet needs it where its weights come from Caffe, which pads otherwise.
    """

    can_be_cut: ClassVar[bool] = True

    type: Literal["pool_helper"] = "pool_helper"

    def output_type(self, input_types: Sequence[InputType]) -> Convolutional:
        """Return images that are one pixel lower and narrower."""
        images = self.only(input_types)
        if not isinstance(images, Convolutional):
            raise PathError(f"must be images, got {images}.", "inputs")
        if 1 in (images.height, images.width):
            raise PathError(f"must have 2 rows and columns, got {images}.", "inputs")
        return images.replaced(height=_less(images.height), width=_less(images.width))

    def forward(self, run: VertexRun, inputs: Arrays) -> VertexPass:
        """Copy the rest of images (batch, height, width, channels)."""
        behind_first = slice(1, None)
        return _part_of(run, inputs, (slice(None), behind_first, behind_first))


def _part_of(run: VertexRun, inputs: Arrays, place: Any) -> VertexPass:
    """Copy the part at an index of the only input; the rest gets the gradient 0."""
    (x,) = inputs

    def backward(grad_out: FloatArray) -> list[FloatArray]:
        grad_x = run.lent("grad_x", x.shape, grad_out.dtype)
        grad_x.fill(0)
        grad_x[place] = grad_out
        return [grad_x]

    return copied(run, "output", x[place]), backward


def _parts(stacked: FloatArray, shapes: Sequence[tuple[int, ...]]) -> list[FloatArray]:
    """Return the stacked inputs, as views, without their filling."""
    parts, start = [], 0
    for shape in shapes:
        part = stacked[start : start + shape[0]]
        # Only steps can be fewer: other axes are whole.
        parts.append(part[:, : shape[1]] if len(shape) == 3 else part)
        start += shape[0]
    return parts


def _less(size: int | None) -> int | None:
    return None if size is None else size - 1
