"""Vertices that users define: several inputs, one output, nothing to learn."""

from collections.abc import Callable, Sequence
from typing import Any

from daskdl.arrays.namespace import FloatArray
from daskdl.errors import ShapeError
from daskdl.nn.conf.axes import fits
from daskdl.nn.conf.input_type import InputType
from daskdl.nn.conf.vertex import VertexConf
from daskdl.nn.layers.definition import read_only, refuse_writing, writable
from daskdl.nn.run import Arrays, VertexPass, VertexRun


class VertexDefinition(VertexConf):
    """A vertex of one's own: derive from it, and register it with `daskdl.vertex`.

    Options are annotated fields. Arrays are of shape (batch, features), series (batch,
    time, features), images (batch, height, width, channels), whatever the data format
    of the network's inputs. A vertex learns nothing: what has parameters is a layer.

    Examples
    --------
    >>> import daskdl
    >>> @daskdl.vertex("difference_example")
    ... class Difference(daskdl.VertexDefinition):
    ...     def forward(self, run, inputs):
    ...         first, second = inputs
    ...         return first - second, lambda grad: [grad, -grad]
    >>> Difference(inputs=["a", "b"])
    Difference(inputs=('a', 'b'))
    """

    type: str = ""

    def output_type(self, input_types: Sequence[InputType]) -> InputType:
        """Return the type of the output: that of the first input, unless overridden."""
        return input_types[0]


def checked_forward(conf: VertexConf) -> Callable[[VertexRun, Arrays], VertexPass]:
    """Return the forward method of a definition, with its results checked.

    Output and gradients must have the shapes and dtypes that the definition says.
    """

    def forward(run: VertexRun, inputs: Arrays) -> VertexPass:
        lent = [read_only(array) for array in inputs]
        try:
            output, back = conf.forward(run, lent)
        except (TypeError, ValueError) as error:
            refuse_writing(run.who, "forward must not write to its inputs", error)
            if "unpack" not in str(error):
                raise
            raise _no_pass(run.who) from error
        if not callable(back):
            raise _no_pass(run.who)
        _check_output(run, output, inputs[0])
        for view, array in zip(lent, inputs, strict=True):
            output = writable(output, view, array)

        def backward(grad_out: FloatArray) -> list[FloatArray]:
            lent_grad = read_only(grad_out)
            try:
                grads: Any = back(lent_grad)
            except ValueError as error:
                refuse_writing(run.who, "backward must not write to grad", error)
                raise
            _check_gradients(run, grads, inputs)
            return [writable(grad, lent_grad, grad_out) for grad in grads]

        return output, backward

    return forward


def _no_pass(who: str) -> ShapeError:
    return ShapeError(
        f"{who}: forward must return the output and the function that takes its "
        "gradient back to a list of those of its inputs, got something else."
    )


def _check_output(run: VertexRun, output: Any, like: FloatArray) -> None:
    expected = run.output_type.shape
    shape, dtype = getattr(output, "shape", None), getattr(output, "dtype", None)
    if shape is None or not fits(expected, output) or len(output) != len(like):
        axes = ", ".join("time" if n is None else str(n) for n in expected)
        raise ShapeError(
            f"{run.who}: forward must return an output of shape (batch, {axes}), got "
            f"{type(output).__name__ if shape is None else shape}."
        )
    if dtype != like.dtype:
        raise ShapeError(
            f"{run.who}: forward must return an output of dtype {like.dtype}, got "
            f"{dtype}."
        )


def _check_gradients(run: VertexRun, grads: Any, inputs: Arrays) -> None:
    found = grads if isinstance(grads, list | tuple) else [grads]
    came = [getattr(grad, "shape", type(grad).__name__) for grad in found]
    expected = [array.shape for array in inputs]
    if came != expected:
        raise ShapeError(
            f"{run.who}: backward must return a list of gradients of the shapes "
            f"{expected}, got {came}."
        )
