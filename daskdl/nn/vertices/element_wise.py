"""The vertex that combines inputs number by number."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated, ClassVar, Literal

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.kernels.activation import relu_backward
from daskdl.kernels.shortcut import add_relu
from daskdl.nn.conf.axes import known, same_kind, with_shape
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.input_type import InputType
from daskdl.nn.conf.values import AnySpelling
from daskdl.nn.conf.vertex import VertexConf
from daskdl.nn.masks import either_mask
from daskdl.nn.run import Arrays, Masks, VertexBackward, VertexPass, VertexRun
from daskdl.nn.vertices.inputs import shape_error, unpadded

ElementWiseOp = Literal["add", "subtract", "product", "average", "max"]

# What NumPy calls them, where it has another name.
_UFUNCS = {"average": "add", "product": "multiply", "max": "maximum"}


class ElementWiseVertex(VertexConf):
    """Combine inputs number by number.

    An axis of length 1 is repeated as often as the others are long: a number for each
    channel, say, is combined with all pixels. Where masks of series differ, steps
    that are dropped count 0.

    Parameters
    ----------
    op : {"add", "subtract", "product", "average", "max"}
        ``subtract`` takes exactly two inputs; in a tie of ``max`` the first one gets
        the gradient.
    """

    can_be_cut: ClassVar[bool] = True

    type: Literal["element_wise"] = "element_wise"
    op: Annotated[ElementWiseOp, AnySpelling()]

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

    def forward(self, run: VertexRun, inputs: Arrays) -> VertexPass:
        """Combine arrays of one shape (batch, ...), or 1 where others are longer."""
        arrays, unpad = unpadded(run, inputs, if_masks_differ=True)
        output = run.lent("output", _common_shape(run, arrays), arrays[0].dtype)
        if run.rectifies:
            add_relu(*arrays, out=output)
        else:
            self._combine(arrays, output)
        shapes = [array.shape for array in arrays]
        back = self._way_back(run, arrays, output)

        def backward(grad_out: FloatArray) -> list[FloatArray]:
            pairs = enumerate(zip(back(grad_out), shapes, strict=True))
            return unpad([_summed(run, i, grad, shape) for i, (grad, shape) in pairs])

        return output, backward

    def can_rectify(self, n_inputs: int) -> bool:
        """Return whether this is the sum of two arrays."""
        return self.op == "add" and n_inputs == 2

    def feed_forward_mask(self, run: VertexRun, masks: Masks) -> FloatArray | None:
        """Return the masks joined: a step stays that any input keeps.

        All are of one shape, such as (batch, time).
        """
        return either_mask(masks)

    def _combine(self, arrays: Arrays, output: FloatArray) -> None:
        xp = array_namespace(output)
        combine = getattr(xp, _UFUNCS.get(self.op, self.op))
        total, *rest = arrays
        for other in rest:
            total = combine(total, other, out=output)
        if not rest:
            xp.copyto(output, total)
        if self.op == "average":
            output /= len(arrays)

    def _way_back(
        self, run: VertexRun, arrays: Arrays, output: FloatArray
    ) -> VertexBackward:
        """Return what takes the gradient to one for each input, in its own shape.

        It holds what it reads and nothing else: of a sum neither inputs nor output.
        """
        n = len(arrays)
        if self.op == "product":
            return partial(_product_backward, run, arrays)
        if self.op == "max":
            return partial(_max_backward, run, arrays, output)
        if self.op == "subtract":
            return partial(_difference_backward, run)
        if self.op == "average":
            return partial(_average_backward, run, n)
        if run.rectifies:
            return partial(_rectified_backward, run, n, output)
        return lambda grad_out: [grad_out] * n


def _rectified_backward(
    run: VertexRun, n: int, output: FloatArray, grad_out: FloatArray
) -> list[FloatArray]:
    return [relu_backward(grad_out, output, out=_like(run, "grad", grad_out))] * n


def _average_backward(run: VertexRun, n: int, grad_out: FloatArray) -> list[FloatArray]:
    grad = _like(run, "grad", grad_out)
    array_namespace(grad_out).multiply(grad_out, 1 / n, out=grad)
    return [grad] * n


def _difference_backward(run: VertexRun, grad_out: FloatArray) -> list[FloatArray]:
    grad = _like(run, "grad", grad_out)
    return [grad_out, array_namespace(grad_out).negative(grad_out, out=grad)]


def _product_backward(
    run: VertexRun, arrays: Arrays, grad_out: FloatArray
) -> list[FloatArray]:
    grads = []
    for index in range(len(arrays)):
        grad = _like(run, f"grad {index}", grad_out)
        grad[...] = grad_out
        for other, array in enumerate(arrays):
            if other != index:
                grad *= array
        grads.append(grad)
    return grads


def _max_backward(
    run: VertexRun, arrays: Arrays, output: FloatArray, grad_out: FloatArray
) -> list[FloatArray]:
    xp = array_namespace(grad_out)
    is_open = xp.ones(grad_out.shape, dtype=bool)
    grads = []
    for index, array in enumerate(arrays):
        grad = _like(run, f"grad {index}", grad_out)
        wins = is_open & (array == output)
        xp.multiply(grad_out, wins, out=grad)
        is_open &= ~wins
        grads.append(grad)
    return grads


def _common_shape(run: VertexRun, arrays: Arrays) -> tuple[int, ...]:
    sizes_of_axes = zip(*(array.shape for array in arrays), strict=True)
    shape = tuple(max(sizes) for sizes in sizes_of_axes)
    # The examples are never repeated.
    if any(
        len(x) != shape[0] or size not in (1, longest)
        for x in arrays
        for size, longest in zip(x.shape, shape, strict=True)
    ):
        raise shape_error(run, arrays, ", or 1 where others are longer")
    return shape


def _summed(
    run: VertexRun, index: int, grad: FloatArray, shape: tuple[int, ...]
) -> FloatArray:
    """Return the gradient of an input: the sum where the input was repeated."""
    if shape == grad.shape:
        return grad
    axes = enumerate(zip(shape, grad.shape, strict=True))
    repeated = tuple(axis for axis, (size, longest) in axes if size != longest)
    total = run.lent(f"sum {index}", shape, grad.dtype)
    array_namespace(grad).sum(grad, axis=repeated, keepdims=True, out=total)
    return total


def _like(run: VertexRun, what: str, array: FloatArray) -> FloatArray:
    return run.lent(what, array.shape, array.dtype)
