"""Arrays of data sets, with one entry an example along axis 0."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from daskdl.arrays.namespace import to_host
from daskdl.data.masked_arrays import without_mask
from daskdl.errors import DataError, ShapeError

__all__ = ["as_batch_array", "as_keys", "check_same_length", "keys_side_by_side"]


def as_batch_array(who: str, name: str, value: Any) -> NDArray[Any]:
    """Return the value as an array of numbers with an axis of examples.

    Parameters
    ----------
    who, name : str
        Of the data set and of its part, for messages.
    value : array_like of shape (batch, ...)
        Not copied if it is an array of NumPy already; one of CuPy comes to the host.

    Returns
    -------
    ndarray
        Bool, integer or float, as it came.

    Raises
    ------
    DataError
        If the value is ragged, does not hold real numbers, has masked entries, or is a
        data set.
    ShapeError
        If it has no axis.
    """
    # Of the class: a data frame may have a column of that name.
    if hasattr(type(value), "num_examples"):
        raise DataError(
            f"{who}: {name} must be an array, got a {type(value).__name__}. Give what "
            "is in it, such as data.features."
        )
    value = without_mask(who, name, value)
    try:
        array = to_host(value)
    except ValueError as error:
        raise DataError(
            f"{who}: {name} must be a regular array of numbers, got ragged rows."
        ) from error
    if array.dtype.kind not in "biuf":
        raise DataError(
            f"{who}: {name} must hold real numbers, got dtype {array.dtype}."
        )
    if array.ndim == 0:
        raise ShapeError(
            f"{who}: {name} must have an axis of examples first, got a single number."
        )
    return array


def as_keys(who: str, value: Any, n_examples: int) -> NDArray[Any]:
    """Return the keys of the examples as an array of shape (batch,).

    Keys that are no plain numbers or text, tuples for instance, stay Python objects.

    Raises
    ------
    DataError
        If a key is masked.
    ShapeError
        If there is not one key an example.
    """
    if not isinstance(value, np.ndarray) and not hasattr(value, "__array__"):
        value = _keys_of_sequence(list(value))
    keys = np.asarray(without_mask(who, "keys", value))
    if keys.shape != (n_examples,):
        raise ShapeError(
            f"{who}: keys must have shape ({n_examples},), got {keys.shape}."
        )
    return keys


def keys_side_by_side(columns: Sequence[NDArray[Any]]) -> NDArray[Any] | None:
    """Return the keys that several columns make together.

    Parameters
    ----------
    columns : sequence of ndarray of shape (batch,)

    Returns
    -------
    ndarray of shape (batch,), or None
        Of tuples, the column itself if there is one, None if there is none.
    """
    if len(columns) < 2:
        return columns[0] if columns else None
    keys = np.empty(len(columns[0]), object)
    # Of nanoseconds Python has no times: they would turn to integers.
    each = (list(c) if c.dtype == "M8[ns]" else c.tolist() for c in columns)
    for row, key in enumerate(zip(*each, strict=True)):
        keys[row] = key
    return keys


def check_same_length(
    who: str, arrays: Sequence[tuple[str, NDArray[Any] | None]]
) -> int:
    """Return the length of axis 0 that all arrays share.

    Parameters
    ----------
    who : str
        For messages.
    arrays : sequence of (name, ndarray of shape (n, ...) or None)
        The first must not be None.

    Raises
    ------
    ShapeError
        If an array has another number of examples than the first.
    """
    present = [(name, array) for name, array in arrays if array is not None]
    first_name, first = present[0]
    for name, array in present[1:]:
        if len(array) != len(first):
            raise ShapeError(
                f"{who}: {name} must have as many examples as {first_name} "
                f"({len(first)}), got shape {array.shape}."
            )
    return len(first)


def _keys_of_sequence(keys: list[Any]) -> NDArray[Any]:
    # NumPy would turn [1, "a"] into text and [(1, 2), (3, 4)] into a matrix.
    if len({type(key) for key in keys}) == 1 and isinstance(keys[0], int | float | str):
        return np.asarray(keys)
    array = np.empty(len(keys), dtype=object)
    array[:] = keys
    return array
