"""The vertices that make one minibatch of several, and take it apart again."""

from collections.abc import Sequence
from typing import Literal

from pydantic import ConfigDict, Field, model_validator

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.errors import ShapeError
from daskdl.nn.conf.axes import contradict, known, same_kind
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.input_type import InputType, Recurrent
from daskdl.nn.conf.values import Count, Index
from daskdl.nn.conf.vertex import VertexConf
from daskdl.nn.masks import stacked_masks
from daskdl.nn.run import Arrays, Masks, VertexPass, VertexRun
from daskdl.nn.vertices.inputs import copied, shape_error
from daskdl.nn.vertices.subset import part_of


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
        output = run.buffer("output", (n_rows, *example), inputs[0].dtype)
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
        shapes = [array.shape for array in run.inputs]
        present = [mask for mask in masks if mask is not None]
        is_series = isinstance(run.output_type, Recurrent)
        if not present:
            is_filled = is_series and len({shape[1] for shape in shapes}) > 1
            if not is_filled or "stack_has_no_mask_of_its_own" in self.quirks:
                return None
            present = [run.inputs[0][:, :, 0]]
        xp, some = array_namespace(present[0]), present[0]
        whole = [
            (shape[:2] if is_series else (shape[0], *some.shape[1:]))
            for shape in shapes
        ]
        each = zip(masks, whole, strict=True)
        return stacked_masks(
            [xp.ones(shape, some.dtype) if m is None else m for m, shape in each]
        )

    def batch_size(self, sizes: Sequence[int]) -> int:
        """Return the number of all examples."""
        return sum(sizes)


class UnstackVertex(VertexConf):
    """Take one of the equal parts that a :class:`StackVertex` put one below the other.

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
        return part_of(run, inputs, self._rows(run, len(inputs[0])))

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


def _parts(stacked: FloatArray, shapes: Sequence[tuple[int, ...]]) -> list[FloatArray]:
    """Return the stretches of the inputs, as views, without what was filled in."""
    parts, start = [], 0
    for shape in shapes:
        part = stacked[start : start + shape[0]]
        # Only steps can be fewer: other axes are whole.
        parts.append(part[:, : shape[1]] if len(shape) == 3 else part)
        start += shape[0]
    return parts
