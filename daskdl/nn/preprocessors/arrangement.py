"""How steps and pixels lie in rows: what several preprocessors share.

Rows of time steps are those of the first step of all examples, then those of the
second, and so on.
"""

import math
from typing import Any, TypeVar

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.errors import ShapeError
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.input_type import (
    Convolutional,
    Convolutional3D,
    InputType,
    Recurrent,
    describe,
)


def check_kind(input_type: InputType, kind: type[Any], needs: str) -> Any:
    """Return an input type of the right kind, or refuse it.

    Raises
    ------
    OptionError
        If it is of another kind.
    """
    if not isinstance(input_type, kind):
        raise PathError(
            f"must get {needs}, got {describe(input_type)}.", "preprocessor"
        )
    return input_type


def check_format(
    input_type: Recurrent | Convolutional | Convolutional3D, data_format: str
) -> None:
    """Refuse a data format that is not that of the input: it would mix up the axes.

    Raises
    ------
    OptionError
        If they differ.
    """
    if data_format != input_type.data_format:
        raise PathError(
            f"must be {input_type.data_format!r}, that of what it gets, got "
            f"{data_format!r}.",
            *("preprocessor", "data_format"),
        )


K = TypeVar("K", Convolutional, Convolutional3D)


def agreed_sizes(input_type: K, conf: Any) -> K:
    """Return images or volumes whose open sizes are those that an option gives.

    Raises
    ------
    OptionError
        If an option contradicts what comes.
    """
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


def steps_to_rows(series: FloatArray, out: FloatArray) -> FloatArray:
    """Copy series (batch, time, n) into rows (time * batch, n), and return these."""
    batch, steps, n = series.shape
    array_namespace(series).copyto(
        out.reshape(steps, batch, n), series.transpose(1, 0, 2)
    )
    return out


def rows_to_steps(rows: FloatArray, out: FloatArray) -> FloatArray:
    """Copy rows (time * batch, n) into series (batch, time, n), and return these."""
    batch, steps, n = out.shape
    array_namespace(rows).copyto(out, rows.reshape(steps, batch, n).transpose(1, 0, 2))
    return out


def mask_to_rows(mask: FloatArray | None) -> FloatArray | None:
    """Return a mask of steps (batch, time) as one of rows (time * batch, 1)."""
    return None if mask is None else mask.T.reshape(-1, 1)


def mask_to_steps(mask: FloatArray | None, batch_size: int) -> FloatArray | None:
    """Return a mask of rows (time * batch, 1) as one of steps (batch, time)."""
    return None if mask is None else mask.reshape(-1, batch_size).T


def steps_in(rows: FloatArray, batch_size: int, who: str) -> int:
    """Return how many time steps rows, (time * batch, ...), are of.

    Raises
    ------
    ShapeError
        If the rows are no multiple of the examples.
    """
    if batch_size == 0:
        # Nothing says how many; one fits whatever comes behind.
        return 1
    if len(rows) % batch_size:
        raise ShapeError(
            f"{who}: x must have a multiple of {batch_size} rows, the time steps of so "
            f"many examples, got {len(rows)}."
        )
    return len(rows) // batch_size


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
