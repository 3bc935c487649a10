"""The vertices that compute Euclidean distances, and bring examples to length 1."""

import math
from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.nn.conf.axes import axis_inside, contradict, same_kind
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.input_type import FeedForward, InputType, Recurrent
from daskdl.nn.conf.values import Index, Positive, repeated
from daskdl.nn.conf.vertex import VertexConf
from daskdl.nn.run import Arrays, Masks, VertexPass, VertexRun
from daskdl.nn.vertices.inputs import shape_error, unpadded


class L2Vertex(VertexConf):
    """Compute the Euclidean distance of two inputs, a number an example.

    It is ``sqrt(sum((a - b) ** 2))`` over all axes of an example. A step of series that
    one of two masks drops counts 0 there.

    Parameters
    ----------
    eps : float, default 1e-8
        Least distance that the gradient divides by.
    """

    can_be_cut: ClassVar[bool] = True

    type: Literal["l2"] = "l2"
    eps: Positive = 1e-8

    def output_type(self, input_types: Sequence[InputType]) -> FeedForward:
        """Return rows of one number."""
        if len(input_types) != 2:
            raise PathError(f"must be two names, got {self.inputs!r}.", "inputs")
        same_kind(input_types)
        first, second = input_types
        if contradict(first.shape, second.shape):
            raise PathError(f"must have one shape, got {first} and {second}.", "inputs")
        return FeedForward(size=1)

    def forward(self, run: VertexRun, inputs: Arrays) -> VertexPass:
        """Compute the distances, (batch, 1)."""
        if inputs[0].shape != inputs[1].shape:
            raise shape_error(run, inputs)
        (a, b), unpad = unpadded(run, inputs)
        xp = array_namespace(a)
        difference = run.buffer("difference", a.shape, a.dtype)
        xp.subtract(a, b, out=difference)
        distance = run.buffer("output", (len(a), 1), a.dtype)
        squares = run.buffer("squares", (len(a), math.prod(a.shape[1:])), a.dtype)
        xp.square(difference.reshape(squares.shape), out=squares)
        xp.sum(squares, axis=1, keepdims=True, out=distance)
        xp.sqrt(distance, out=distance)

        def backward(grad_out: FloatArray) -> list[FloatArray]:
            shape, dtype = difference.shape, grad_out.dtype
            each = grad_out / xp.maximum(distance, self.eps)
            each = each.reshape(len(each), *(1 for _ in shape[1:]))
            grad_a = run.buffer("grad_a", shape, dtype)
            grad_b = run.buffer("grad_b", shape, dtype)
            xp.multiply(difference, each, out=grad_a)
            xp.negative(grad_a, out=grad_b)
            return unpad([grad_a, grad_b])

        return distance, backward

    def feed_forward_mask(self, run: VertexRun, masks: Masks) -> FloatArray | None:
        """Return the first mask, (batch, 1), of examples; one of steps ends here."""
        return None if isinstance(run.input_types[0], Recurrent) else masks[0]


class L2NormalizeVertex(VertexConf):
    """Divide each example by its Euclidean norm, or by `eps` if that is larger.

    Steps of series that a mask drops do not count, and come out as 0.

    Parameters
    ----------
    dimensions : tuple of int, optional
        Axes whose numbers make up one norm, counted as the data format of the input
        has them: 1 normalizes the channels of each pixel of format NCHW. None or empty
        stands for all but that of the examples.
    eps : float, default 1e-8
        Least divisor.
    """

    can_be_cut: ClassVar[bool] = True

    type: Literal["l2_normalize"] = "l2_normalize"
    dimensions: Annotated[tuple[Index, ...] | None, BeforeValidator(repeated(1))] = None
    eps: Positive = 1e-8

    def axes(self, input_type: InputType) -> tuple[int, ...]:
        """Return the axes of one norm, as they lie inside."""
        if not self.dimensions:
            return tuple(range(1, len(input_type.shape) + 1))
        found = {axis_inside(input_type, d, "dimensions") for d in self.dimensions}
        return tuple(sorted(found))

    def output_type(self, input_types: Sequence[InputType]) -> InputType:
        """Return the input's type."""
        whole = self.only(input_types)
        self.axes(whole)
        return whole

    def forward(self, run: VertexRun, inputs: Arrays) -> VertexPass:
        """Divide examples, (batch, ...), by their norms.

        The gradient is ``g / norm - x (x . g) / norm ** 3``, and ``g / eps`` where the
        norm is less than eps.
        """
        (x,), unpad = unpadded(run, inputs)
        xp, eps, axes = array_namespace(x), self.eps, self.axes(run.input_types[0])
        output = run.buffer("output", x.shape, x.dtype)
        xp.multiply(x, x, out=output)
        shape = tuple(1 if i in axes else n for i, n in enumerate(x.shape))
        norm = run.buffer("norm", shape, x.dtype)
        xp.sum(output, axis=axes, keepdims=True, out=norm)
        xp.sqrt(norm, out=norm)
        xp.divide(x, xp.maximum(norm, eps), out=output)

        def backward(grad_out: FloatArray) -> list[FloatArray]:
            grad_x = run.buffer("grad_x", x.shape, x.dtype)
            xp.multiply(x, grad_out, out=grad_x)
            along = xp.sum(grad_x, axis=axes, keepdims=True)
            if "l2_normalize_bounds_cube" in self.quirks:
                along /= xp.maximum(norm**3, eps)
            else:
                along *= norm > eps
                # One after the other: the cube of a small norm is 0 in float32.
                for _ in range(3):
                    along /= xp.maximum(norm, eps)
            xp.divide(grad_out, xp.maximum(norm, eps), out=grad_x)
            grad_x -= xp.multiply(x, along, out=run.buffer("part", x.shape, x.dtype))
            return unpad([grad_x])

        return output, backward
