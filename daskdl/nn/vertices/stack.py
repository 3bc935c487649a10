"""The vertex that makes one minibatch of several."""

from collections.abc import Sequence
from typing import Literal

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.errors import ShapeError
from daskdl.nn.conf.axes import known, same_kind
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.input_type import InputType, Recurrent
from daskdl.nn.conf.vertex import VertexConf
from daskdl.nn.masks import stacked_masks
from daskdl.nn.vertices.vertex import Vertex


class StackVertex(VertexConf):
    """Put its inputs one below the other, so that they go through the same layers.

    Series that are shorter than others are filled with 0 behind. An
    :class:`UnstackVertex` takes the inputs apart again.
    """

    type: Literal["stack"] = "stack"

    def output_type(self, input_types: Sequence[InputType]) -> InputType:
        """Return the inputs' type; series are as long as the longest."""
        same_kind(input_types)
        first = input_types[0]
        if isinstance(first, Recurrent):
            steps = [other.shape[0] for other in input_types]
            longest = None if None in steps else max(known(steps))
            first = first.replaced(time_steps=longest)
        for other in input_types[1:]:
            if any(_differ(*pair) for pair in zip(*_sizes(first, other), strict=True)):
                raise PathError(
                    f"must have one shape, got {first} and {other}.", "inputs"
                )
        return first


class Stack(Vertex[StackVertex]):
    """Inputs one below the other along the axis of the examples."""

    def forward(
        self,
        inputs: Sequence[FloatArray],
        *,
        masks: Sequence[FloatArray | None],
        network_input: FloatArray | None = None,
        network_mask: FloatArray | None = None,
        batch_size: int = 0,
    ) -> FloatArray:
        """Stack the examples, (rows, ...); see :meth:`Vertex.forward`."""
        self._check_fit(inputs)
        self._shapes = [array.shape for array in inputs]
        n_rows = sum(len(array) for array in inputs)
        # Examples have one shape, but for the steps of series.
        example = max(array.shape[1:] for array in inputs)
        output: FloatArray = self._buffer("output", (n_rows, *example), inputs[0].dtype)
        self._output = output
        output.fill(0)
        for part, array in zip(self._parts(output), inputs, strict=True):
            part[...] = array
        return output

    def backward(self, grad_out: FloatArray) -> list[FloatArray]:
        """Take the gradient apart; see :meth:`Vertex.backward`."""
        grads = []
        for index, part in enumerate(self._parts(grad_out)):
            grad = self._buffer(("grad", index), part.shape, grad_out.dtype)
            grad[...] = part
            grads.append(grad)
        return grads

    def feed_forward_mask(
        self,
        masks: Sequence[FloatArray | None],
        *,
        network_mask: FloatArray | None = None,
    ) -> FloatArray | None:
        """Return the masks one below the other, 0 behind a shorter series.

        As all of them have examples, of shape (rows, time) or (rows, 1). An input
        without a mask keeps everything. Series of one length without masks need none.
        """
        present = [mask for mask in masks if mask is not None]
        is_series = isinstance(self.output_type, Recurrent)
        if not present:
            is_filled = is_series and len({shape[1] for shape in self._shapes}) > 1
            if not is_filled or "stack_has_no_mask_of_its_own" in self.conf.quirks:
                return None
            present = [self._output[:, :, 0]]
        xp, some = array_namespace(present[0]), present[0]
        whole = [
            (shape[:2] if is_series else (shape[0], *some.shape[1:]))
            for shape in self._shapes
        ]
        return stacked_masks(
            [
                xp.ones(shape, some.dtype) if mask is None else mask
                for mask, shape in zip(masks, whole, strict=True)
            ]
        )

    def batch_size(self, sizes: Sequence[int]) -> int:
        """Return the number of all examples."""
        return sum(sizes)

    def _parts(self, stacked: FloatArray) -> list[FloatArray]:
        """Return the stretches of the inputs, as views, without what was filled in."""
        parts, start = [], 0
        for shape in self._shapes:
            part = stacked[start : start + shape[0]]
            # Only steps can be fewer: other axes are whole.
            parts.append(part[:, : shape[1]] if len(shape) == 3 else part)
            start += shape[0]
        return parts

    def _check_fit(self, inputs: Sequence[FloatArray]) -> None:
        is_series = isinstance(self.output_type, Recurrent)
        examples = {array.shape[2 if is_series else 1 :] for array in inputs}
        if len(examples) > 1:
            came = ", ".join(str(array.shape) for array in inputs)
            raise ShapeError(f"{self.who}: inputs must have one shape, got {came}.")


def _sizes(first: InputType, other: InputType) -> tuple[Sequence[int | None], ...]:
    """Return the shapes of two types of one kind, without the steps of series."""
    start = 1 if isinstance(first, Recurrent) else 0
    return first.shape[start:], other.shape[start:]


def _differ(size: int | None, other: int | None) -> bool:
    return None not in (size, other) and size != other
