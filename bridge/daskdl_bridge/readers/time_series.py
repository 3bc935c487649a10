"""Columns of arrays of time steps, of one length or of several."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow.compute as pc
from numpy.typing import DTypeLike, NDArray

from daskdl.data.time_series import StepNumber, TimeSeries
from daskdl.errors import ColumnError, DataError
from daskdl_bridge.readers.arrays import (
    decode_lists,
    decode_numbers,
    is_list,
    is_number,
)
from daskdl_bridge.readers.buffers import as_numpy
from daskdl_bridge.readers.error_location import ErrorLocation, first_true
from daskdl_bridge.readers.vectors import decode_vectors, is_vector

__all__ = ["cut_to_fit", "decode_series", "side_by_side_series"]


def decode_series(
    column: Any, place: ErrorLocation, dtype: DTypeLike, most_bytes: int
) -> TimeSeries:
    """Turn a column of arrays of steps into series.

    Parameters
    ----------
    column : pyarrow.Array of length rows
        Arrays of numbers, one a step, or arrays of arrays (or of vectors) of equal
        length.
    place : ErrorLocation
        For messages.
    dtype : dtype
        float32 or float64.
    most_bytes : int
        See `decode_vectors`.

    Raises
    ------
    DataError
        If a row or a step is null, a row has no step, or steps differ in their width.
    ColumnError
        If steps hold something else.
    """
    place.refuse_nulls(as_numpy(column.is_null()))
    lengths = np.asarray(as_numpy(pc.list_value_length(column)), np.int64)
    is_empty = lengths == 0
    if is_empty.any():
        raise DataError(
            f"{place} must hold time series of at least one step, "
            f"{place.row(first_true(is_empty))} has none."
        )
    steps = replace(place, first_row=StepNumber(lengths, place.first_row))
    return TimeSeries(_steps(column.flatten(), steps, dtype, most_bytes), lengths)


def side_by_side_series(
    series: Sequence[TimeSeries], names: Sequence[str], place: ErrorLocation
) -> TimeSeries:
    """Return several columns of series as one, the features of a step side by side.

    Raises
    ------
    DataError
        If a row has another number of steps in one column than in the first.
    """
    first, *others = series
    if not others:
        return first
    for one, name in zip(others, names[1:], strict=True):
        differs = one.lengths != first.lengths
        if differs.any():
            row = first_true(differs)
            raise DataError(
                f"{place.part}: columns {names[0]!r} and {name!r} must have as many "
                f"steps to stand side by side; {place.row(row)} has "
                f"{int(first.lengths[row])} and {int(one.lengths[row])}."
            )
    return TimeSeries(np.concatenate([s.steps for s in series], axis=1), first.lengths)


def cut_to_fit(
    columns: Sequence[Any], itemsize: int, most_bytes: int
) -> list[tuple[int, int]]:
    """Return rows that are padded together, so that a long series pads few others.

    Parameters
    ----------
    columns : sequence of pyarrow.Array of length rows
        Of time series; others do not count.
    itemsize : int
        Bytes of a number.
    most_bytes : int
        What rows may take together when they are padded; a single one may take more.

    Returns
    -------
    list of (int, int)
        The first row of each piece and the one after its last, in order.
    """
    series = [column for column in columns if is_list(column.type)]
    n_rows = len(columns[0]) if columns else 0
    if not series or not n_rows:
        return [(0, n_rows)]
    lengths = np.max([_lengths(column) for column in series], axis=0)
    step_bytes = itemsize * sum(map(_n_features, series))
    # Tables that are larger than a block anyhow are cut only if padding makes them so.
    held = step_bytes * int(lengths.sum())
    if n_rows * int(lengths.max()) * step_bytes <= max(most_bytes, 2 * held):
        return [(0, n_rows)]
    pieces, start, longest = [], 0, 0
    for row, length in enumerate(lengths.tolist()):
        longest = max(longest, length)
        if row > start and (row + 1 - start) * longest * step_bytes > most_bytes:
            pieces.append((start, row))
            start, longest = row, length
    return [*pieces, (start, n_rows)]


def _lengths(column: Any) -> NDArray[np.int64]:
    lengths = pc.fill_null(pc.list_value_length(column), 0)
    return np.asarray(as_numpy(lengths), np.int64)


def _n_features(column: Any) -> int:
    """Return the numbers of the widest step."""
    steps = pc.list_flatten(column)
    if is_vector(steps.type):
        sizes = pc.coalesce(
            steps.field("size"), pc.list_value_length(steps.field("values"))
        )
    elif is_list(steps.type):
        sizes = pc.list_value_length(steps)
    else:
        return 1
    return int(pc.max(sizes).as_py() or 0)


def _steps(values: Any, place: ErrorLocation, dtype: DTypeLike, most_bytes: int) -> Any:
    """Return the steps of all rows as an array of shape (steps, features)."""
    if is_vector(values.type):
        return decode_vectors(values, place, dtype, most_bytes)
    if is_number(values.type):
        return decode_numbers(values, place, dtype)[:, None]
    steps = decode_lists(values, place, dtype)
    if steps.ndim != 2:
        raise ColumnError(
            f"{place} must hold a number or an array of numbers a step, got "
            f"{values.type}."
        )
    return steps
