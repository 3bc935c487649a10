"""The vertex that combines inputs number by number."""

from collections.abc import Hashable, Sequence
from typing import Annotated, Literal

from pydantic import BeforeValidator

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.arrays.workspace import Workspace
from daskdl.errors import ShapeError
from daskdl.kernels.activation import relu_backward
from daskdl.kernels.shortcut import add_relu
from daskdl.nn.conf.axes import known, same_kind, with_shape
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.input_type import InputType
from daskdl.nn.conf.values import canonical
from daskdl.nn.conf.vertex import VertexConf
from daskdl.nn.masks import differ, either_mask
from daskdl.nn.vertices.vertex import Vertex

ElementWiseOp = Literal["add", "subtract", "product", "average", "max"]


class ElementWiseVertex(VertexConf):
    """Combine inputs number by number.

    An axis of length 1 is repeated as often as the others are long: a number for each
    channel, say, is combined with all pixels.

    Parameters
    ----------
    op : {"add", "subtract", "product", "average", "max"}
        ``subtract`` takes exactly two inputs; in a tie of ``max`` the first one gets
        the gradient.
    """

    type: Literal["element_wise"] = "element_wise"
    op: Annotated[ElementWiseOp, BeforeValidator(canonical(ElementWiseOp))]

    def output_type(self, input_types: Sequence[InputType]) -> InputType:
        """Return the type with the largest size of every axis."""
        if self.op == "subtract" and len(input_types) != 2:
            raise PathError(
                f"must be two names for op 'subtract', got {self.inputs!r}.", "inputs"
            )
        same_kind(input_types)
        shape: list[int | None] = []
        for sizes in zip(*(other.shape for other in input_types), strict=True):
            longer = {size for size in known(sizes) if size > 1}
            if len(longer) > 1:
                types = " and ".join(str(other) for other in input_types)
                raise PathError(
                    f"must have one shape, or 1 where others are longer, got {types}.",
                    "inputs",
                )
            shape.append(max(longer, default=None if None in sizes else 1))
        return with_shape(input_types[0], shape)


class ElementWise(Vertex[ElementWiseVertex]):
    """Sum, difference, product, average or maximum of arrays.

    In a tie of the maximum the first input gets the gradient. Where masks
    of series differ, steps that are dropped count 0.
    """

    def __init__(
        self,
        conf: ElementWiseVertex,
        input_types: Sequence[InputType],
        name: str,
        workspace: Workspace,
    ) -> None:
        super().__init__(conf, input_types, name, workspace)
        self._rectifies = False

    def rectify(self) -> bool:
        """Rectify the output from now on, if it is the sum of two arrays."""
        self._rectifies = self.conf.op == "add" and len(self.input_types) == 2
        return self._rectifies

    def forward(
        self,
        inputs: Sequence[FloatArray],
        *,
        masks: Sequence[FloatArray | None],
        network_input: FloatArray | None = None,
        network_mask: FloatArray | None = None,
        batch_size: int = 0,
    ) -> FloatArray:
        """Combine the inputs; see :meth:`Vertex.forward`."""
        # What one mask drops of all is dropped of what comes out.
        inputs = self._unpadded(inputs, masks if differ(masks) else [None] * len(masks))
        self._inputs = inputs
        first, rest = inputs[0], inputs[1:]
        shape = self._common_shape(inputs)
        self._output: FloatArray = self._buffer("output", shape, first.dtype)
        if self._rectifies:
            return add_relu(first, rest[0], out=self._output)
        xp = array_namespace(first)
        combine = {
            "add": xp.add,
            "average": xp.add,
            "subtract": xp.subtract,
            "product": xp.multiply,
            "max": xp.maximum,
        }[self.conf.op]
        total = first
        for other in rest:
            total = combine(total, other, out=self._output)
        if not rest:
            xp.copyto(self._output, first)
        if self.conf.op == "average":
            self._output /= len(inputs)
        return self._output

    def backward(self, grad_out: FloatArray) -> list[FloatArray]:
        """Compute a gradient for each input; see :meth:`Vertex.backward`."""
        backward = {
            "add": self._add_backward,
            "average": self._average_backward,
            "subtract": self._subtract_backward,
            "product": self._product_backward,
            "max": self._max_backward,
        }[self.conf.op]
        grads = backward(grad_out)
        summed = [self._summed(index, grad) for index, grad in enumerate(grads)]
        return self._of_kept_steps("grad unpadded", summed)

    def feed_forward_mask(
        self,
        masks: Sequence[FloatArray | None],
        *,
        network_mask: FloatArray | None = None,
    ) -> FloatArray | None:
        """Return the masks joined: a step stays that any input keeps.

        All are of one shape, such as (batch, time).
        """
        return either_mask(masks)

    def _common_shape(self, inputs: Sequence[FloatArray]) -> tuple[int, ...]:
        sizes_of_axes = zip(*(array.shape for array in inputs), strict=True)
        shape = tuple(max(sizes) for sizes in sizes_of_axes)
        # The examples are never repeated.
        if any(
            len(x) != shape[0] or size not in (1, longest)
            for x in inputs
            for size, longest in zip(x.shape, shape, strict=True)
        ):
            came = ", ".join(str(array.shape) for array in inputs)
            raise ShapeError(
                f"{self.who}: inputs must have one shape, or 1 where others are "
                f"longer, got {came}."
            )
        return shape

    def _summed(self, index: int, grad: FloatArray) -> FloatArray:
        """Return the gradient of an input: the sum where the input was repeated."""
        shape = self._inputs[index].shape
        if shape == grad.shape:
            return grad
        repeated = tuple(
            axis
            for axis, (size, longest) in enumerate(zip(shape, grad.shape, strict=True))
            if size != longest
        )
        total: FloatArray = self._buffer(("sum", index), shape, grad.dtype)
        array_namespace(grad).sum(grad, axis=repeated, keepdims=True, out=total)
        return total

    def _add_backward(self, grad_out: FloatArray) -> list[FloatArray]:
        if self._rectifies:
            masked = self._like("grad", grad_out)
            grad_out = relu_backward(grad_out, self._output, out=masked)
        return [grad_out] * len(self._inputs)

    def _average_backward(self, grad_out: FloatArray) -> list[FloatArray]:
        n, grad = len(self._inputs), self._like("grad", grad_out)
        array_namespace(grad_out).multiply(grad_out, 1 / n, out=grad)
        return [grad] * n

    def _subtract_backward(self, grad_out: FloatArray) -> list[FloatArray]:
        negative = self._like("grad", grad_out)
        array_namespace(grad_out).negative(grad_out, out=negative)
        return [grad_out, negative]

    def _product_backward(self, grad_out: FloatArray) -> list[FloatArray]:
        grads = []
        for index in range(len(self._inputs)):
            grad = self._like(("grad", index), grad_out)
            grad[...] = grad_out
            for other, array in enumerate(self._inputs):
                if other != index:
                    grad *= array
            grads.append(grad)
        return grads

    def _max_backward(self, grad_out: FloatArray) -> list[FloatArray]:
        xp = array_namespace(grad_out)
        is_open = xp.ones(grad_out.shape, dtype=bool)
        grads = []
        for index, array in enumerate(self._inputs):
            grad = self._like(("grad", index), grad_out)
            wins = is_open & (array == self._output)
            xp.multiply(grad_out, wins, out=grad)
            is_open &= ~wins
            grads.append(grad)
        return grads

    def _like(self, what: Hashable, array: FloatArray) -> FloatArray:
        buffer: FloatArray = self._buffer(what, array.shape, array.dtype)
        return buffer
