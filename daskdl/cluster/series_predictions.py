"""Predictions of time series, each as long as its example: without the padding."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from daskdl.data.multi_dataset import MultiDataSet
from daskdl.data.pairs import Examples

__all__ = ["cut_to_steps", "in_data_format", "steps_first"]


def cut_to_steps(
    outputs: Sequence[NDArray[Any]], batch: Examples, formats: Sequence[str]
) -> list[NDArray[Any]]:
    """Return outputs whose time series have the steps of their examples.

    Parameters
    ----------
    outputs : sequence of ndarray of shape (batch, ...)
        Series in their data formats; others are returned as they are.
    batch : DataSet or MultiDataSet
        What they were computed from; masks tell the steps.
    formats : sequence of str
        Of each output: ``NWC`` is (batch, time, n_out), else time is last.

    Returns
    -------
    list of ndarray
        Series as an array of shape (batch,) of arrays of shape (n_out, steps).
    """
    masks = MultiDataSet.of(batch).features_masks or ()
    return [
        _cut(np.swapaxes(output, 1, 2) if data_format == "NWC" else output, masks)
        if output.ndim == 3
        else np.asarray(output)
        for output, data_format in zip(outputs, formats, strict=True)
    ]


def in_data_format(output: NDArray[Any], data_format: str) -> NDArray[Any]:
    """Return series that were cut to their steps in the data format of the output.

    Those of ``NWC`` become arrays of shape (steps, n_out); what is no series that was
    cut stays as it is.
    """
    if output.dtype != object or data_format != "NWC":
        return output
    made = np.empty(len(output), object)
    for row, one in enumerate(output):
        made[row] = one.T
    return made


def steps_first(series: NDArray[Any], *, as_numbers: bool) -> NDArray[Any]:
    """Return series as lists of steps, for a column of arrays.

    Parameters
    ----------
    series : ndarray of shape (batch,)
        Of arrays of shape (n_out, steps), and None.
    as_numbers : bool
        A step is its only number, and no array of one.

    Returns
    -------
    ndarray of shape (batch,)
        Of arrays of doubles, or lists of these, and None.
    """
    made = np.empty(len(series), object)
    for row, one in enumerate(series):
        if one is None:
            continue
        steps = np.ascontiguousarray(one.T, dtype=np.float64)
        made[row] = steps[:, 0] if as_numbers else list(steps)
    return made


def _cut(output: NDArray[Any], masks: Sequence[NDArray[Any] | None]) -> NDArray[Any]:
    time = output.shape[2]
    # Of layers that change the number of steps, no mask of the input is told.
    told = [mask for mask in masks if mask is not None and mask.shape[1] == time]
    counts = np.any(told, axis=0) if told else np.ones((len(output), time), bool)
    made = np.empty(len(output), object)
    for row, one in enumerate(output):
        made[row] = one[:, counts[row]]
    return made
