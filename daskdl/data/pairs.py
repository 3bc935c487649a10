"""Arrays that are given as they are: features, or a pair of features and labels."""

from typing import Any, TypeAlias

import numpy as np

from daskdl.data.dataset import DataSet
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.errors import DataError

__all__ = ["Examples", "as_examples", "is_array", "is_features", "is_pair"]
__all__ += ["is_rows"]

Examples: TypeAlias = DataSet | MultiDataSet

_MOST_SHOWN = 5


def is_array(value: Any) -> bool:
    """Say whether a value is an array of whatever library, a data frame included."""
    return hasattr(value, "__array__") or hasattr(value, "__cuda_array_interface__")


def is_pair(value: Any) -> bool:
    """Say whether a value is a tuple of features and labels.

    They are arrays, or lists of numbers that stand for them. Two data sets are no pair,
    and neither are two paths.

    Examples
    --------
    >>> is_pair(([[0.0, 1.0], [2.0, 3.0]], [0, 1]))
    True
    >>> is_pair((DataSet([[0.0]]), DataSet([[1.0]])))
    False
    """
    return (
        isinstance(value, tuple)
        and len(value) == 2
        and all(is_array(item) or _is_list_of_numbers(item) for item in value)
    )


def is_rows(value: Any) -> bool:
    """Return whether a list stands for one array: of numbers, rows, or lists of rows.

    One that holds a single array is a list of arrays, since networks take one of those
    for each input.

    Examples
    --------
    >>> is_rows([[0.0, 1.0], [2.0, 3.0]])
    True
    >>> is_rows([np.zeros((5, 3))])
    False
    """
    if not isinstance(value, list | tuple) or not value:
        return False
    first = value[0]
    if is_array(first):
        return np.ndim(first) == 0 or (np.ndim(first) == 1 and len(value) > 1)
    if isinstance(first, list | tuple):
        return not first or is_array(first[0]) or is_rows(first)
    return isinstance(first, int | float)


def is_features(data: Any) -> bool:
    """Say whether data are features alone: an array, or a list of rows.

    A list of tuples holds pairs.
    """
    if is_array(data):
        return True
    is_list = isinstance(data, list) and bool(data) and not isinstance(data[0], tuple)
    return is_list and is_rows(data)


def as_examples(who: str, value: Any) -> Examples:
    """Return a data set; a pair of features and labels becomes one.

    Raises
    ------
    DataError
        If it is neither, or the arrays hold no real numbers.
    ShapeError
        If features and labels differ in their number of examples.
    """
    if isinstance(value, DataSet | MultiDataSet):
        return value
    if is_pair(value):
        return DataSet(*value)
    raise DataError(
        f"{who}: a minibatch must be a DataSet, a MultiDataSet or a pair (features, "
        f"labels) of arrays, got {_described(value)}.{_advice(value)}"
    )


def _advice(value: Any) -> str:
    if not isinstance(value, list | tuple) or not any(map(is_array, value)):
        return ""
    return " Arrays of several inputs go in as MultiDataSet([first, second], [labels])."


def _is_list_of_numbers(value: Any) -> bool:
    while isinstance(value, list) and value:
        value = value[0]
    return isinstance(value, int | float) or (is_array(value) and value.ndim < 2)


def _described(value: Any) -> str:
    kind = type(value).__name__
    if not isinstance(value, tuple):
        return kind
    parts = [type(item).__name__ for item in value[:_MOST_SHOWN]]
    if len(value) > _MOST_SHOWN:
        parts.append(f"{len(value) - _MOST_SHOWN:,} more")
    return f"{kind} of {', '.join(parts) or 'nothing'}"
