"""The columns of a predictions file, named and typed as Spark's own models do."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from daskdl.cluster.series_predictions import steps_first
from daskdl.data.sinks import NestedColumn

__all__ = ["among_all", "classes_of", "prediction_columns"]


def prediction_columns(
    beside: Mapping[str, Any],
    outputs: Sequence[NDArray[Any]],
    axes: Sequence[int | None],
    is_valid: NDArray[np.bool_] | None = None,
    n_outs: Sequence[int | None] = (),
) -> dict[str, Any]:
    """Return the columns of a predictions file.

    Classes are told as Spark's own models do: ``prediction`` holds the class as a
    double and ``probability`` the vector of its probabilities. Where there is one for
    each time step or pixel, ``prediction`` is the vector of them, and ``probability``
    that of all probabilities, in the order of the output. Further outputs follow as
    ``probability_1``, ... ; a regression has ``prediction`` alone. Series that were cut
    to their steps are arrays: of classes, and of arrays of probabilities.

    Parameters
    ----------
    beside : mapping of str to array of shape (rows,)
        Columns that come first: the keys.
    outputs : sequence of ndarray of shape (n, ...)
        Of the same examples; objects are arrays of shape (n_out, steps).
    axes : sequence of (int or None)
        Which axis of each output holds the classes; None of a regression.
    is_valid : ndarray of shape (rows,), bool, optional
        Which n rows have a prediction; those of others are null.
    n_outs : sequence of int, optional
        Numbers of a step, of series that were cut to their steps.
    """
    columns: dict[str, Any] = {}
    nested: dict[str, NestedColumn] = {}
    for number, (output, axis) in enumerate(zip(outputs, axes, strict=True)):
        suffix = f"_{number}" if number else ""
        if output.dtype == object:
            is_number = axis is None and n_outs[number] == 1
            series = output if is_valid is None else among_all(output, is_valid)
            nested |= _series_columns(series, axis, suffix, as_numbers=is_number)
            continue
        flat = _flat(output)
        if axis is not None:
            columns[f"prediction{suffix}"] = classes_of(output, axis)
            columns[f"probability{suffix}"] = flat
        else:
            columns[f"prediction{suffix}"] = flat[:, 0] if flat.shape[1] == 1 else flat
    if is_valid is not None:
        columns = {name: among_all(one, is_valid) for name, one in columns.items()}
    return {**beside, **columns, **nested}


def classes_of(probabilities: NDArray[Any], axis: int = 1) -> NDArray[np.float64]:
    """Return the most probable classes along an axis, as doubles.

    Returns
    -------
    ndarray of shape (batch,), or (batch, time steps or pixels)
    """
    if probabilities.shape[axis] == 1:
        classes = probabilities.take(0, axis=axis) > 0.5
    else:
        classes = probabilities.argmax(axis=axis)
    return classes.astype(np.float64) if classes.ndim == 1 else _flat(classes)


def among_all(values: NDArray[Any], is_valid: NDArray[np.bool_]) -> NDArray[Any]:
    """Return values of the valid rows among all rows.

    Parameters
    ----------
    values : ndarray of shape (n, ...)
    is_valid : ndarray of shape (rows,), bool
        With n that are true.

    Returns
    -------
    ndarray of shape (rows, ...)
        Numbers are masked, and objects None, where a row is not valid.
    """
    shape = (len(is_valid), *values.shape[1:])
    if values.dtype == object:
        objects = np.empty(shape, object)
        objects[is_valid] = values
        return objects
    numbers = np.zeros(shape, values.dtype)
    numbers[is_valid] = values
    is_masked = np.zeros(shape, np.bool_)
    is_masked[~is_valid] = True
    return np.ma.MaskedArray(numbers, is_masked)


def _series_columns(
    series: NDArray[Any], axis: int | None, suffix: str, *, as_numbers: bool
) -> dict[str, NestedColumn]:
    name = f"prediction{suffix}"
    if axis is None:
        rows = steps_first(series, as_numbers=as_numbers)
        return {name: NestedColumn(rows, depth=1 if as_numbers else 2)}
    classes = np.empty(len(series), object)
    for row, one in enumerate(series):
        classes[row] = None if one is None else classes_of(one[np.newaxis])
    return {
        name: NestedColumn(steps_first(classes, as_numbers=True), depth=1),
        f"probability{suffix}": NestedColumn(
            steps_first(series, as_numbers=False), depth=2
        ),
    }


def _flat(array: NDArray[Any]) -> NDArray[np.float64]:
    # Not -1: it stands for no number where there is no example.
    return array.reshape(len(array), math.prod(array.shape[1:])).astype(np.float64)
