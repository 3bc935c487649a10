"""The vertex that joins features or channels, or another axis."""

from collections.abc import Sequence
from typing import Literal

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.arrays.workspace import Workspace
from daskdl.errors import ShapeError
from daskdl.nn.conf.axes import axis_inside, known, same_kind, with_shape
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.input_type import InputType, Recurrent
from daskdl.nn.conf.values import Index
from daskdl.nn.conf.vertex import VertexConf
from daskdl.nn.masks import differ, either_mask, masks_in_a_row
from daskdl.nn.vertices.vertex import Vertex


class MergeVertex(VertexConf):
    """Join its inputs, in their order: their features or channels.

    Parameters
    ----------
    merge_axis : int, optional
        Another axis, counted as the data format of the first input has them: 2 joins
        time series of format NCW in time. None stands for features or channels.
    """

    type: Literal["merge"] = "merge"
    merge_axis: Index | None = None

    def axis(self, input_types: Sequence[InputType]) -> int:
        """Return the axis that is joined, as it lies inside."""
        first = input_types[0]
        if self.merge_axis is None:
            return len(first.shape)
        return axis_inside(first, self.merge_axis, "merge_axis")

    def output_type(self, input_types: Sequence[InputType]) -> InputType:
        """Return the first input's type with the sum of the sizes that are joined."""
        joined = self.axis(input_types) - 1
        same_kind(input_types)
        shape: list[int | None] = []
        for axis, sizes in enumerate(zip(*(t.shape for t in input_types), strict=True)):
            if axis == joined:
                shape.append(None if None in sizes else sum(known(sizes)))
            else:
                shape.append(self._agreed(sizes, input_types))
        return with_shape(input_types[0], shape)

    def _agreed(
        self, sizes: Sequence[int | None], input_types: Sequence[InputType]
    ) -> int | None:
        """Return the size that all inputs have, None if nobody knows it."""
        found = set(known(sizes))
        if len(found) > 1:
            axis = "features or channels"
            if self.merge_axis is not None:
                axis = f"axis {self.merge_axis}"
            others = " and ".join(str(other) for other in input_types)
            raise PathError(f"must be alike except for {axis}, got {others}.", "inputs")
        return found.pop() if found else None


class Merge(Vertex[MergeVertex]):
    """Inputs one behind the other along one axis, in their order."""

    def __init__(
        self,
        conf: MergeVertex,
        input_types: Sequence[InputType],
        name: str,
        workspace: Workspace,
    ) -> None:
        super().__init__(conf, input_types, name, workspace)
        self._axis = conf.axis(self.input_types)

    def forward(
        self,
        inputs: Sequence[FloatArray],
        *,
        masks: Sequence[FloatArray | None],
        network_input: FloatArray | None = None,
        network_mask: FloatArray | None = None,
        batch_size: int = 0,
    ) -> FloatArray:
        """Join the inputs; see :meth:`Vertex.forward`."""
        first = inputs[0]
        self._check_other_axes(inputs)
        self._lengths = [array.shape[self._axis] for array in inputs]
        # What one mask drops of all is dropped of what comes out.
        inputs = self._unpadded(inputs, masks if differ(masks) else [None] * len(masks))
        shape = list(first.shape)
        shape[self._axis] = sum(self._lengths)
        output: FloatArray = self._buffer("output", tuple(shape), first.dtype)
        array_namespace(first).concatenate(inputs, axis=self._axis, out=output)
        return output

    def backward(self, grad_out: FloatArray) -> list[FloatArray]:
        """Cut the gradient apart; see :meth:`Vertex.backward`."""
        grads, start = [], 0
        for index, length in enumerate(self._lengths):
            part = [slice(None)] * grad_out.ndim
            part[self._axis] = slice(start, start + length)
            cut = grad_out[tuple(part)]
            grad = self._buffer(("grad", index), cut.shape, grad_out.dtype)
            grad[...] = cut
            grads.append(grad)
            start += length
        return self._of_kept_steps("grad unpadded", grads)

    def feed_forward_mask(
        self,
        masks: Sequence[FloatArray | None],
        *,
        network_mask: FloatArray | None = None,
    ) -> FloatArray | None:
        """Return the masks joined.

        See :meth:`Vertex.feed_forward_mask` for the shapes. Where features are joined,
        a step stays that any input keeps. Series that are joined in time keep their own
        steps.
        """
        if isinstance(self.output_type, Recurrent) and self._axis == 1:
            return masks_in_a_row(masks, self._lengths)
        return either_mask(masks)

    def _check_other_axes(self, inputs: Sequence[FloatArray]) -> None:
        axis = self._axis
        rest = {(*array.shape[:axis], *array.shape[axis + 1 :]) for array in inputs}
        if len(rest) > 1:
            came = ", ".join(str(array.shape) for array in inputs)
            last = axis == inputs[0].ndim - 1
            which = "the last axis" if last else f"axis {axis}"
            raise ShapeError(
                f"{self.who}: inputs must have one shape but for {which}, got {came}."
            )
