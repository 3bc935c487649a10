"""Arrays that users' classes are lent, and checks of what layers and vertices return.

Others read the same arrays, so that they are lent to be read only; what comes back goes
on to compiled code, which is for arrays that may be written to.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.errors import OptionError, ShapeError
from daskdl.nn.conf.axes import fits
from daskdl.nn.conf.input_type import InputType

T = TypeVar("T")

_IN_A_RUN = "a new array, or to run.like(name, x)"


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


def reading(
    who: str, rule: str, call: Callable[[], T], *, instead: str = "a new array"
) -> T:
    """Return what somebody else's function returns, which only reads what it is lent.

    Parameters
    ----------
    who, rule : str
        Named in errors: whose function it is, and to what it must not write.
    call : callable
        The function with its arguments.
    instead : str
        What it may write to.

    Raises
    ------
    OptionError
        If it writes to what it was lent.
    """
    try:
        return call()
    except ValueError as error:
        if "read-only" not in str(error):
            raise
        raise OptionError(
            f"{who}: {rule}, which others read too, got {error}. Write to {instead}."
        ) from error


def forward_of(
    who: str, forward: Callable[[], Any], *, inputs: str, gradient: str
) -> tuple[Any, Callable[[FloatArray], Any]]:
    """Return the output of somebody else's forward method, and its way back.

    Parameters
    ----------
    who : str
        Named in errors.
    forward : callable
        The method with its arguments.
    inputs, gradient : str
        What the errors call what it was lent, and what its way back returns.

    Raises
    ------
    OptionError
        If it writes to what it was lent.
    ShapeError
        If it does not return a pair of which the second can be called.
    """
    refusal = ShapeError(
        f"{who}: forward must return the output and the function that takes its "
        f"{gradient}, got something else."
    )
    try:
        rule = f"forward must not write to {inputs}"
        output, back = reading(who, rule, forward, instead=_IN_A_RUN)
    except (TypeError, ValueError) as error:
        if "unpack" not in str(error):
            raise
        raise refusal from error
    if not callable(back):
        raise refusal
    return output, back


def backward_of(who: str, backward: Callable[[], T]) -> T:
    """Return what somebody else's way back returns.

    Raises
    ------
    OptionError
        If it writes to the gradient that it was lent.
    """
    return reading(who, "backward must not write to grad", backward, instead=_IN_A_RUN)


def check_made(
    who: str, wanted: str, array: Any, kind: InputType, like: FloatArray
) -> None:
    """Refuse what is no array of the type that was announced.

    Parameters
    ----------
    who, wanted : str
        For messages: whose it is, and that it must return such a thing.
    array : object
        What came.
    kind : InputType
        Says the shape of an example.
    like : ndarray of shape (batch, ...)
        With as many examples, of the same dtype.

    Raises
    ------
    ShapeError
    """
    axes = ", ".join("time" if n is None else str(n) for n in kind.shape)
    shape, dtype = getattr(array, "shape", None), getattr(array, "dtype", None)
    if shape is None or len(array) != len(like) or not fits(kind.shape, array):
        raise ShapeError(
            f"{who}: {wanted} of shape (batch, {axes}), got "
            f"{type(array).__name__ if shape is None else shape}."
        )
    if dtype != like.dtype:
        raise ShapeError(f"{who}: {wanted} of dtype {like.dtype}, got {dtype}.")
