"""Flattening of images into rows and back, for several preprocessors."""

import math
from collections.abc import Sequence
from typing import Any, TypeVar

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.input_type import (
    Convolutional,
    Convolutional3D,
    InputType,
    Recurrent,
    describe,
)
from daskdl.nn.run import Reshaped, Run


def check_kind(input_type: InputType, kind: type[Any], needs: str) -> Any:
    """Return an input type of the right kind; refuse others."""
    if not isinstance(input_type, kind):
        raise PathError(
            f"must get {needs}, got {describe(input_type)}.", "preprocessor"
        )
    return input_type


def check_format(
    input_type: Recurrent | Convolutional | Convolutional3D, data_format: str
) -> None:
    """Refuse a data format that is not that of the input: it would mix up the axes."""
    if data_format != input_type.data_format:
        raise PathError(
            f"must be {input_type.data_format!r}, that of what it gets, got "
            f"{data_format!r}.",
            *("preprocessor", "data_format"),
        )


def check_length(rows: InputType, sizes: tuple[int, ...]) -> None:
    """Refuse rows or steps that do not hold an image or volume of these sizes."""
    length = math.prod(sizes)
    if rows.n_features != length:
        text = " * ".join(map(str, sizes))
        raise PathError(
            f"must get {text} = {length} numbers, got {rows}.", "preprocessor"
        )


K = TypeVar("K", Convolutional, Convolutional3D)


def agreed_sizes(input_type: K, conf: Any) -> K:
    """Return images or volumes whose open sizes are those that an option gives."""
    found = {}
    for option in ("depth", "height", "width", "channels"):
        given, came = getattr(conf, option, None), getattr(input_type, option, None)
        if given is not None and came is not None and given != came:
            raise PathError(
                f"must be {came}, what it gets ({input_type}), got {given}.",
                *("preprocessor", option),
            )
        if given is not None:
            found[option] = given
    return input_type.replaced(**found)


def row_shape(x: FloatArray) -> tuple[int, int]:
    """Return the shape (rows, n) of rows that hold all of each example, (rows, ...)."""
    return len(x), math.prod(x.shape[1:])


def flatten(x: FloatArray, out: FloatArray, *, channels_first: bool) -> FloatArray:
    """Copy images or volumes (rows, ..., channels) into `out` (rows, n).

    Parameters
    ----------
    x : ndarray of shape (rows, height, width, channels) or with a depth
    out : ndarray of shape (rows, n)
        Overwritten.
    channels_first : bool
        Whether all of one channel comes before the next one.
    """
    xp = array_namespace(x)
    if channels_first:
        x = xp.moveaxis(x, -1, 1)
    xp.copyto(out.reshape(x.shape), x)
    return out


def unflatten(rows: FloatArray, out: FloatArray, *, channels_first: bool) -> FloatArray:
    """Copy rows (rows, n) into `out` (rows, ..., channels): :func:`flatten` undone."""
    xp = array_namespace(rows)
    to = xp.moveaxis(out, -1, 1) if channels_first else out
    xp.copyto(to, rows.reshape(to.shape))
    return out


def flattened(
    run: Run, x: FloatArray, *, channels_first: bool, to: str = "output"
) -> Reshaped:
    """Return images or volumes as rows: :func:`flatten` and the way back.

    Parameters
    ----------
    run : Run
        Lends a buffer called `to`, and one called grad_x.
    x : ndarray of shape (rows, ..., channels)
        Rows cell by cell are a view of it.
    """
    shape = x.shape
    if not channels_first:
        return x.reshape(row_shape(x)), lambda grad_out: grad_out.reshape(shape)

    def backward(grad_out: FloatArray) -> FloatArray:
        grad_x = run.lent("grad_x", shape, grad_out.dtype)
        return unflatten(grad_out, grad_x, channels_first=True)

    output = run.lent(to, row_shape(x), x.dtype)
    return flatten(x, output, channels_first=True), backward


def unflattened(
    run: Run,
    rows: FloatArray,
    sizes: Sequence[int],
    *,
    channels_first: bool,
    back: str = "grad_x",
) -> Reshaped:
    """Return rows (rows, n) as images or volumes (rows, *sizes), and the way back.

    The buffer of that is called `back`.
    """
    shape = rows.shape

    def backward(grad_out: FloatArray) -> FloatArray:
        grad_rows = run.lent(back, shape, grad_out.dtype)
        return flatten(grad_out, grad_rows, channels_first=channels_first)

    output = run.lent("output", (len(rows), *sizes), rows.dtype)
    return unflatten(rows, output, channels_first=channels_first), backward
