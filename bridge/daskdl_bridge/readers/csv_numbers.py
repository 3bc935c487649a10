"""Rows of plain numbers out of CSV text, without columns in between.

pyarrow makes columns, and laying 64 of them side by side takes half as long again (see
design 0081). Where the text has no quotes and its numbers are plain, they go from bytes
into rows; everything else stays with pyarrow, and is found by trying.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from daskdl.data.sources.source import SourceOptions
from daskdl.kernels.number_text import SKIPPED, read_numbers
from daskdl_bridge.readers.columns import ExampleColumns
from daskdl_bridge.readers.csv_text import CsvText

__all__ = ["groups_of_numbers", "read_number_rows"]

Groups = Mapping[tuple[str, ...], "np.dtype[Any]"]

# Less is not worth the time that it takes to load what is compiled.
_FEWEST_BYTES = 1 << 18


def groups_of_numbers(
    columns: ExampleColumns, names: Sequence[str], options: SourceOptions
) -> Groups:
    """Return which columns stand side by side, and as what numbers.

    Parameters
    ----------
    columns : ExampleColumns
    names : sequence of str
        Those that hold numbers.
    options : SourceOptions

    Returns
    -------
    mapping of tuple of str to dtype
        Each column is in one group. float32 only where nobody asks for more digits.
    """
    times = Counter([*columns.numeric(), *columns.keys, *columns.kept])
    groups: dict[tuple[str, ...], np.dtype[Any]] = {}
    left = dict.fromkeys(names)
    for group in columns.features:
        if left.keys() >= set(group):
            is_alone = all(times[name] == 1 for name in group)
            wanted = options.dtype if is_alone else None
            groups[group] = np.dtype(wanted or np.float64)
            for name in group:
                del left[name]
    return {**groups, **{(name,): np.dtype(np.float64) for name in left}}


def read_number_rows(
    text: CsvText, names: Sequence[str], groups: Groups
) -> tuple[int, dict[tuple[str, ...], NDArray[Any]], bool] | None:
    """Read groups of columns.

    Parameters
    ----------
    text : CsvText
    names : sequence of str
        Of all columns of the text, in order.
    groups : mapping of tuple of str to dtype
        What to read; see `groups_of_numbers`.

    Returns
    -------
    (rows, arrays, has_nulls) or None
        Their number, an array of shape (rows, columns) for each group, and whether one
        has NaN for null; all else is finite. None where pyarrow has to read the text.
    """
    is_short = len(text.data) - text.start < _FEWEST_BYTES
    if is_short or not text.has_plain_cells or len(set(names)) < len(names):
        return None
    most_rows = text.most_rows()
    places, starts, sizes = _places(names, groups, most_rows)
    doubles, singles = np.empty(sizes[0], np.float64), np.empty(sizes[1], np.float32)
    delimiter = ord(text.dialect.delimiter)
    found = read_numbers(
        text.data, text.start, delimiter, places, most_rows, doubles, singles
    )
    if found is None:
        return None
    rows, has_nulls = found
    arrays = {}
    for group, start in starts.items():
        numbers: NDArray[Any] = singles if groups[group] == np.float32 else doubles
        in_rows = numbers[start : start + rows * len(group)]
        arrays[group] = in_rows.reshape(rows, len(group))
    return rows, arrays, has_nulls


def _places(
    names: Sequence[str], groups: Groups, most_rows: int
) -> tuple[NDArray[np.int64], dict[tuple[str, ...], int], list[int]]:
    """Return where columns and groups go, and how many float64 and float32 there are.

    Groups lie behind one another, each with room for all rows.
    """
    places = np.full((len(names), 3), SKIPPED, np.int64)
    index_of = {name: index for index, name in enumerate(names)}
    starts, sizes = {}, [0, 0]
    for group, dtype in groups.items():
        is_single = int(dtype == np.float32)
        starts[group] = sizes[is_single]
        for offset, name in enumerate(group):
            row = starts[group] + offset, len(group), is_single
            places[index_of[name]] = row
        sizes[is_single] += most_rows * len(group)
    return places, starts, sizes
