"""Vertices that users define: several inputs, one output, nothing to learn."""

from collections.abc import Callable, Sequence
from typing import Any

from daskdl.arrays.namespace import FloatArray
from daskdl.errors import ShapeError
from daskdl.nn.conf.input_type import InputType
from daskdl.nn.conf.vertex import VertexConf
from daskdl.nn.lent_arrays import (
    backward_of,
    check_made,
    forward_of,
    read_only,
    writable,
)
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
        who, lent = run.who, [read_only(array) for array in inputs]
        output, back = forward_of(
            who,
            lambda: conf.forward(run, lent),
            inputs="its inputs",
            gradient="gradient back to a list of those of its inputs",
        )
        wanted = "forward must return an output"
        check_made(who, wanted, output, run.output_type, inputs[0])
        for view, array in zip(lent, inputs, strict=True):
            output = writable(output, view, array)

        def backward(grad_out: FloatArray) -> list[FloatArray]:
            lent = read_only(grad_out)
            grads = backward_of(who, lambda: back(lent))
            _check_gradients(run, grads, inputs)
            return [writable(grad, lent, grad_out) for grad in grads]

        return output, backward

    return forward


def _check_gradients(run: VertexRun, grads: Any, inputs: Arrays) -> None:
    found = grads if isinstance(grads, list | tuple) else [grads]
    came = [getattr(grad, "shape", type(grad).__name__) for grad in found]
    expected = [array.shape for array in inputs]
    if came != expected:
        raise ShapeError(
            f"{run.who}: backward must return a list of gradients of the shapes "
            f"{expected}, got {came}."
        )
