"""The vertex that joins features or channels."""

from collections.abc import Sequence
from typing import Literal

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.errors import ShapeError
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.input_type import InputType, features_of, with_features
from daskdl.nn.conf.vertex import VertexConf
from daskdl.nn.masks import either_mask
from daskdl.nn.vertices.vertex import Vertex


class MergeVertex(VertexConf):
    """Join the features (or channels) of its inputs, in their order."""

    type: Literal["merge"] = "merge"

    def output_type(self, input_types: Sequence[InputType]) -> InputType:
        """Return the first input's type with the sum of all features or channels."""
        first = input_types[0]
        same = [with_features(first, features_of(other)) for other in input_types]
        for other, expected in zip(input_types, same, strict=True):
            if other != expected:
                raise PathError(
                    f"must be alike except for features or channels, got {first} "
                    f"and {other}.",
                    "inputs",
                )
        return with_features(first, sum(features_of(other) for other in input_types))


class Merge(Vertex[MergeVertex]):
    """Inputs one behind the other along the last axis, in their order."""

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
        self._check_leading_axes(inputs)
        self._widths = [array.shape[-1] for array in inputs]
        first = inputs[0]
        shape = (*first.shape[:-1], sum(self._widths))
        output: FloatArray = self._buffer("output", shape, first.dtype)
        array_namespace(first).concatenate(inputs, axis=-1, out=output)
        return output

    def backward(self, grad_out: FloatArray) -> list[FloatArray]:
        """Cut the gradient apart; see :meth:`Vertex.backward`."""
        grads, start = [], 0
        for index, width in enumerate(self._widths):
            shape = (*grad_out.shape[:-1], width)
            grad = self._buffer(("grad", index), shape, grad_out.dtype)
            grad[...] = grad_out[..., start : start + width]
            grads.append(grad)
            start += width
        return grads

    def feed_forward_mask(
        self,
        masks: Sequence[FloatArray | None],
        *,
        network_mask: FloatArray | None = None,
    ) -> FloatArray | None:
        """Return the masks joined: a step stays that any input keeps."""
        return either_mask(masks)

    def _check_leading_axes(self, inputs: Sequence[FloatArray]) -> None:
        if len({array.shape[:-1] for array in inputs}) > 1:
            came = ", ".join(str(array.shape) for array in inputs)
            raise ShapeError(
                f"{self.who}: inputs must have one shape but for the last axis, "
                f"got {came}."
            )
