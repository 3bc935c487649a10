"""The vertex that joins features or channels, or another axis."""

from collections.abc import Sequence
from typing import ClassVar, Literal

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.nn.conf.axes import axis_inside, known, same_kind, with_shape
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.input_type import InputType, Recurrent
from daskdl.nn.conf.values import Index
from daskdl.nn.conf.vertex import VertexConf
from daskdl.nn.masks import either_mask, masks_in_a_row
from daskdl.nn.run import Arrays, Masks, VertexPass, VertexRun
from daskdl.nn.vertices.inputs import copied, shape_error, unpadded


class MergeVertex(VertexConf):
    """Join its inputs, in their order: their features or channels.

    Parameters
    ----------
    merge_axis : int, optional
        Another axis, counted as the data format of the first input has them: 2 joins
        time series of format NCW in time. None stands for features or channels.
    """

    can_be_cut: ClassVar[bool] = True

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

    def forward(self, run: VertexRun, inputs: Arrays) -> VertexPass:
        """Copy the inputs, (batch, ...), one behind the other."""
        axis = self.axis(run.input_types)
        _check_other_axes(run, inputs, axis)
        arrays, unpad = unpadded(run, inputs, if_masks_differ=True)
        lengths = [array.shape[axis] for array in arrays]
        shape = list(arrays[0].shape)
        shape[axis] = sum(lengths)
        output = run.lent("output", tuple(shape), arrays[0].dtype)
        array_namespace(output).concatenate(arrays, axis=axis, out=output)

        def backward(grad_out: FloatArray) -> list[FloatArray]:
            grads, start = [], 0
            for index, length in enumerate(lengths):
                part = (*[slice(None)] * axis, slice(start, start + length))
                grads.append(copied(run, f"grad {index}", grad_out[part]))
                start += length
            return unpad(grads)

        return output, backward

    def feed_forward_mask(self, run: VertexRun, masks: Masks) -> FloatArray | None:
        """Return the masks joined; for their shapes see :class:`VertexConf`.

        Where features are joined, a step stays that any input keeps. Series that are
        joined in time keep their own steps.
        """
        axis = self.axis(run.input_types)
        if isinstance(run.output_type, Recurrent) and axis == 1:
            return masks_in_a_row(masks, [array.shape[1] for array in run.inputs])
        return either_mask(masks)

    def _agreed(
        self, sizes: Sequence[int | None], input_types: Sequence[InputType]
    ) -> int | None:
        """Return the size that all inputs have, None if it is unknown."""
        found = set(known(sizes))
        if len(found) > 1:
            axis = "features or channels"
            if self.merge_axis is not None:
                axis = f"axis {self.merge_axis}"
            others = " and ".join(str(other) for other in input_types)
            raise PathError(f"must be alike except for {axis}, got {others}.", "inputs")
        return found.pop() if found else None


def _check_other_axes(run: VertexRun, inputs: Arrays, axis: int) -> None:
    rest = {(*array.shape[:axis], *array.shape[axis + 1 :]) for array in inputs}
    if len(rest) > 1:
        last = axis == inputs[0].ndim - 1
        which = "the last axis" if last else f"axis {axis}"
        raise shape_error(run, inputs, f" but for {which}")
