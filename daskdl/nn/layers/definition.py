"""A layer in one class: options, shapes, parameters, forward and backward.

The class is a frozen value like every configuration and holds no state; what it works
with is the argument `run`. `forward` returns the output and the function that takes the
gradient back, and that closes over what it needs.
"""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.errors import OptionError, ShapeError
from daskdl.nn.conf.axes import fits
from daskdl.nn.conf.input_type import InputType
from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.conf.options import TrainingOptions
from daskdl.nn.conf.values import Real
from daskdl.nn.conf.weight_inits import AnyWeightInit
from daskdl.nn.run import LayerPass, Run


class LayerDefinition(TrainingOptions, LayerConf):
    """A layer of one's own: derive from it, and register it with :func:`daskdl.layer`.

    Options are annotated fields. Arrays are of shape (batch, features), series (batch,
    time, features), images (batch, height, width, channels), whatever the data format
    of the network's input.

    Parameters
    ----------
    weight_init : str or weight init, optional
        How parameters of the role ``"weight"`` are drawn.
    bias_init, gain_init : float, optional
        What parameters of the roles ``"bias"`` and ``"gain"`` begin with.

    Examples
    --------
    >>> import daskdl
    >>> @daskdl.layer("doubled_example")
    ... class Doubled(daskdl.LayerDefinition):
    ...     def forward(self, run, x):
    ...         return 2 * x, lambda grad: 2 * grad
    >>> Doubled()
    Doubled()
    """

    # Whether training needs random numbers beside those of dropout.
    draws: ClassVar[bool] = False

    # That under which the class is registered.
    type: str = ""
    weight_init: AnyWeightInit | None = None
    bias_init: Real | None = None
    gain_init: Real | None = None

    def output_type(self, input_type: InputType) -> InputType:
        """Return what comes out for `input_type`: the same, unless overridden."""
        return input_type

    @property
    def draws_random_numbers(self) -> bool:
        """True if training needs random numbers."""
        return self.draws or super().draws_random_numbers


def checked_forward(conf: LayerConf) -> Callable[[Run, FloatArray], LayerPass]:
    """Return the forward method of a layer that somebody else wrote, looked at.

    Its output and the gradient that it sends back must be of the shapes and dtypes that
    it says.
    """

    def forward(run: Run, x: FloatArray) -> LayerPass:
        lent = read_only(x)
        try:
            output, back = conf.forward(run, lent)
        except (TypeError, ValueError) as error:
            refuse_writing(run.who, "forward must not write to x", error)
            if "unpack" not in str(error):
                raise
            raise _no_pass(run.who) from error
        if not callable(back):
            raise _no_pass(run.who)
        _check_made(
            run.who, "forward must return an output", output, run.output_type, x
        )
        output = writable(output, lent, x)

        def backward(grad_out: FloatArray) -> FloatArray | None:
            lent = read_only(grad_out)
            try:
                grad_x = back(lent)
            except ValueError as error:
                refuse_writing(run.who, "backward must not write to grad", error)
                raise
            wanted = "backward must return a gradient"
            _check_made(run.who, wanted, grad_x, run.input_type, grad_out)
            return writable(grad_x, lent, grad_out)

        return output, backward

    return forward


def read_only(array: FloatArray) -> FloatArray:
    """Return a view of an array, of any shape, that others read too."""
    if array_namespace(array) is not np:
        return array  # a device's arrays know no such thing
    view: FloatArray = array.view()
    view.flags.writeable = False
    return view


def writable(made: Any, lent: FloatArray, original: FloatArray) -> FloatArray:
    """Return what was made as compiled code takes it: an array that may be written to.

    Parameters
    ----------
    made : ndarray of any shape
        What somebody else's code returned.
    lent, original : ndarray of shape (batch, ...)
        What it was given, and what that is a view of: handed on as it was. A part of it
        becomes a copy.
    """
    if made is lent:
        return original
    is_lent = array_namespace(made) is np and not made.flags.writeable
    found: FloatArray = made.copy() if is_lent else made
    return found


def refuse_writing(who: str, rule: str, error: Exception) -> None:
    """Explain an error that comes from writing to what was lent."""
    if "read-only" in str(error):
        raise OptionError(
            f"{who}: {rule}, which others read too, got {error}. Write to a new array, "
            "or to run.like(name, x)."
        ) from error


def _no_pass(who: str) -> ShapeError:
    return ShapeError(
        f"{who}: forward must return the output and the function that takes its "
        "gradient back, got something else."
    )


def _check_made(
    who: str, wanted: str, array: Any, kind: InputType, like: FloatArray
) -> None:
    axes = ", ".join("time" if n is None else str(n) for n in kind.shape)
    shape, dtype = getattr(array, "shape", None), getattr(array, "dtype", None)
    if shape is None or len(array) != len(like) or not fits(kind.shape, array):
        raise ShapeError(
            f"{who}: {wanted} of shape (batch, {axes}), got "
            f"{type(array).__name__ if shape is None else shape}."
        )
    if dtype != like.dtype:
        raise ShapeError(f"{who}: {wanted} of dtype {like.dtype}, got {dtype}.")
