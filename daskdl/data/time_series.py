"""Time series of different lengths, padded and masked by DL4J's alignment modes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from daskdl.checks import check_one_of, check_type
from daskdl.data.row_number import RowNumber, row_in_words
from daskdl.errors import DataError

__all__ = [
    "ALIGNMENTS",
    "Alignment",
    "PaddedArrays",
    "StepNumber",
    "TimeSeries",
    "alignment_of",
    "padded_arrays",
]

Alignment: TypeAlias = Literal["start", "end", "equal_length"]
"""At which end the steps of series stand, or that none is shorter than another."""

ALIGNMENTS = ("start", "end", "equal_length")


@dataclass(frozen=True, eq=False)
class TimeSeries:
    """The steps of several series, one series after the other.

    Parameters
    ----------
    steps : ndarray of shape (sum of lengths, features)
    lengths : ndarray of shape (batch,), int
        Steps of each series.
    data_format : {"NCW", "NWC"}
        Whether padded ones are (batch, features, time) or (batch, time, features).
    """

    steps: NDArray[Any]
    lengths: NDArray[np.int64]
    data_format: str = "NCW"

    @property
    def longest(self) -> int:
        """Steps of the longest series; 0 if there is none."""
        return int(self.lengths.max(initial=0))


@dataclass(frozen=True)
class StepNumber:
    """The number of a row and of a step in it, for messages; see `RowNumber`.

    Parameters
    ----------
    lengths : ndarray of shape (batch,), int
        Steps of each row.
    first_row : int or RowNumber
        Number of the first row.
    step : int
        Counted through all rows.
    """

    lengths: NDArray[np.int64]
    first_row: RowNumber
    step: int = 0

    def __add__(self, steps: int, /) -> "StepNumber":
        return replace(self, step=self.step + steps)

    def __str__(self) -> str:
        stops = np.cumsum(self.lengths)
        row = int(np.searchsorted(stops, self.step, side="right"))
        in_row = self.step - int(stops[row] - self.lengths[row])
        return f"{self.first_row + row}, step {in_row}"


@dataclass(frozen=True)
class PaddedArrays:
    """Arrays of examples that are as long as the longest series.

    Parameters
    ----------
    features, labels : list of ndarray
        Series of shape (batch, features, time), others as they were.
    features_masks, labels_masks : list of (ndarray of shape (batch, time) or None)
        None where no step is left out.
    """

    features: list[NDArray[Any]]
    labels: list[NDArray[Any]]
    features_masks: list[NDArray[Any] | None]
    labels_masks: list[NDArray[Any] | None]


def alignment_of(who: str, value: Any) -> Alignment | None:
    """Return an alignment by its name, or by DL4J's: ``ALIGN_START`` and so on.

    Raises
    ------
    OptionError
        If there is none of that name.
    """
    if value is None:
        return None
    check_type(who, "align", value, str)
    name = value.lower().removeprefix("align_")
    if name in ALIGNMENTS:
        return cast(Alignment, name)
    return cast(Alignment, check_one_of(who, "align", value, ALIGNMENTS))


def padded_arrays(
    who: str,
    features: Sequence[TimeSeries | NDArray[Any]],
    labels: Sequence[TimeSeries | NDArray[Any]],
    *,
    align: Alignment,
    at_last_step: Sequence[str | None],
    first_row: RowNumber = 0,
    most_bytes: int = 4 << 30,
) -> PaddedArrays:
    """Pad all series of some examples to the length of the longest.

    Parameters
    ----------
    who : str
        For messages: a partition.
    features, labels : sequence of (TimeSeries or ndarray of shape (batch, ...))
        One entry an input or output.
    align : {"start", "end", "equal_length"}
        Where steps stand that are fewer; labels may be fewer than features.
    at_last_step : sequence of ("NCW", "NWC" or None)
        For each entry of `labels`: an array (batch, n_out) becomes labels of the last
        step of the features in this data format, and no other step counts; None leaves
        it as it is.
    first_row : int or RowNumber
        Number of the first example, for messages.
    most_bytes : int
        What one padded array may take.

    Raises
    ------
    DataError
        If an array would take more, or series differ that must be of equal length.
    """
    series = [one for one in (*features, *labels) if isinstance(one, TimeSeries)]
    if align == "equal_length":
        _check_equal(who, series, first_row)
    width = max((one.longest for one in series), default=0)
    for one in series:
        _check_fits(who, one, width, most_bytes)
    has_masks = align != "equal_length"
    made = PaddedArrays([], [], [], [])
    for given in features:
        array, mask = _padded(given, width, align)
        made.features.append(array)
        made.features_masks.append(mask if has_masks else None)
    ends = _ends([one for one in features if isinstance(one, TimeSeries)], width, align)
    for given, data_format in zip(labels, at_last_step, strict=True):
        if data_format is not None and not isinstance(given, TimeSeries):
            array, mask = _at_last_step(given, ends, width, data_format)
        else:
            array, mask = _padded(given, width, align)
            mask = mask if has_masks else None
        made.labels.append(array)
        made.labels_masks.append(mask)
    return made


def _padded(
    given: TimeSeries | NDArray[Any], width: int, align: Alignment
) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Return series as an array in their data format, and their mask."""
    if not isinstance(given, TimeSeries):
        return given, None
    steps, lengths = given.steps, given.lengths
    rows = np.repeat(np.arange(len(lengths)), lengths)
    places = np.arange(len(steps)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    if align == "end":
        places += np.repeat(width - lengths, lengths)
    array = _zeros(len(lengths), steps.shape[1], width, steps.dtype, given.data_format)
    _steps_of(array, given.data_format)[rows, places] = steps
    mask = np.zeros((len(lengths), width), steps.dtype)
    mask[rows, places] = 1
    return array, mask


def _ends(
    inputs: Sequence[TimeSeries], width: int, align: Alignment
) -> NDArray[np.int64]:
    """Return where the last step of each example stands, in the longest input."""
    if not inputs:
        return np.zeros(0, np.int64)
    ends: NDArray[np.int64] = np.max([one.lengths for one in inputs], axis=0) - 1
    return np.full_like(ends, width - 1) if align == "end" else ends


def _zeros(
    rows: int, features: int, width: int, dtype: Any, data_format: str
) -> NDArray[Any]:
    is_time_last = data_format == "NCW"
    shape = (features, width) if is_time_last else (width, features)
    return np.zeros((rows, *shape), dtype)


def _steps_of(array: NDArray[Any], data_format: str) -> NDArray[Any]:
    """Return series as a view of shape (batch, time, features)."""
    return np.swapaxes(array, 1, 2) if data_format == "NCW" else array


def _at_last_step(
    labels: NDArray[Any], ends: NDArray[np.int64], width: int, data_format: str
) -> tuple[NDArray[Any], NDArray[Any]]:
    n_rows, n_out = labels.shape
    rows = np.arange(n_rows)
    array = _zeros(n_rows, n_out, width, labels.dtype, data_format)
    _steps_of(array, data_format)[rows, ends] = labels
    mask = np.zeros((len(labels), width), labels.dtype)
    mask[rows, ends] = 1
    return array, mask


def _check_equal(who: str, series: Sequence[TimeSeries], first_row: RowNumber) -> None:
    for one in series:
        first = int(series[0].lengths[0]) if len(one.lengths) else 0
        differs = one.lengths != first
        if differs.any():
            row = int(np.argmax(differs))
            raise DataError(
                f"{who}: all time series must have one length with "
                f"align='equal_length', got {first} and {int(one.lengths[row])} steps "
                f"in {row_in_words(first_row + row)}. Give align='start' or 'end'."
            )


def _check_fits(who: str, series: TimeSeries, width: int, most_bytes: int) -> None:
    rows, features = len(series.lengths), series.steps.shape[1]
    n_bytes = rows * features * width * series.steps.itemsize
    if n_bytes > most_bytes:
        raise DataError(
            f"{who}: time series must take at most {most_bytes} bytes when they are as "
            f"long as the longest, got {rows} of {features} features and up to {width} "
            f"steps, which take {n_bytes}. Cut the longest, write smaller parts, or "
            "raise most_part_bytes."
        )
