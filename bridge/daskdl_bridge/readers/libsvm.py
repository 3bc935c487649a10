"""libsvm files: ``label index:value index:value ...``, indices from 1."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from daskdl.data.row_number import RowNumber
from daskdl.data.sources.source import SourceOptions
from daskdl.errors import ColumnError, CorruptFileError
from daskdl.kernels.number_text import Pairs, read_pairs
from daskdl_bridge.listing import Part
from daskdl_bridge.readers.columns import resolve_columns
from daskdl_bridge.readers.file_summary import FileSummary, type_in_words, unknown_rows
from daskdl_bridge.readers.keys import with_key_type
from daskdl_bridge.readers.line_ranges import (
    LineReader,
    partitions_of_lines,
    ranges_of,
)
from daskdl_bridge.readers.lines import is_compressed, read_head, read_lines
from daskdl_bridge.readers.table_reader import TablePartition
from daskdl_bridge.readers.vectors import VECTOR, encode_sparse

__all__ = ["LibsvmReader", "open_parts", "summarize_parts"]


_TYPES = {"label": pa.float64(), "features": VECTOR}
# Spark's vectors go no further.
_LARGEST_INDEX = (1 << 31) - 1
# Beyond it floats, as which all numbers are read, leave whole numbers out.
_LARGEST_FLOAT = 1 << 53
# Each number is an object while it is read, of ten times the bytes that it ends as.
_ROWS_AT_ONCE = 1 << 10


@dataclass(frozen=True)
class LibsvmReader(LineReader):
    """Reads ``label`` and ``features`` of libsvm files.

    Parameters
    ----------
    width : int
        Number of features of every row, over all files.
    """

    form = "libsvm"

    width: int

    def table_of(
        self,
        data: bytes,
        columns: list[str],
        part: Part,
        first_row: RowNumber,
        options: SourceOptions,
    ) -> Any:
        """Return a pyarrow.Table; see `LineReader.table_of`. Features stay sparse."""
        lengths, labels, indices, values = _parsed(data, part, first_row)
        _check_indices(lengths, indices, self.width, part, first_row)
        features = encode_sparse(lengths, indices - 1, values, self.width)
        return pa.table({"label": labels, "features": features}).select(columns)

    def count(self, data: bytes, options: SourceOptions) -> int:
        """Return the number of rows in some lines."""
        return len(_rows(data))

    def width_of(self, part: Part, options: SourceOptions) -> int:
        """Return the largest index of a range of a file, 0 without any."""
        if is_compressed(part):
            pieces = self.blocks(part, options)
        else:
            data = read_lines(part, self.form, options.storage_options)
            pieces = iter([(part, data)])
        # Of one piece after the other: all that is kept of each is its largest index.
        width, first_row = 0, self.first_row(part, options)
        for piece, data in pieces:
            lengths, _, indices, _ = _parsed(data, piece, first_row)
            width = max(width, int(indices.max(initial=0)))
            first_row = first_row + len(lengths)
        return width


def open_parts(parts: Sequence[Part], options: SourceOptions) -> list[TablePartition]:
    """Make partitions of libsvm files.

    Parameters
    ----------
    parts : sequence of Part
        Plain, or compressed by one of Hadoop's codecs.
    options : SourceOptions
        The columns are ``label`` and ``features``, as Spark names them. Without
        `n_features` all files are read here, since no file tells the width of all.

    Raises
    ------
    ColumnError
        If another column is named.
    CorruptFileError
        If a file that had to be read is damaged.
    """
    columns = resolve_columns(options, _TYPES, parts[0])
    columns = with_key_type(columns, parts, [_TYPES])
    width = min(options.n_features or _width(parts, options), _LARGEST_INDEX)
    return partitions_of_lines(parts, LibsvmReader(width), columns, options)


def summarize_parts(parts: Sequence[Part], options: SourceOptions) -> FileSummary:
    """Tell the columns of libsvm files, which are always the same."""
    read_head(parts[0], "libsvm", options)
    types = {name: type_in_words(kind) for name, kind in _TYPES.items()}
    return FileSummary(types=types, rows=unknown_rows(parts))


def _width(parts: Sequence[Part], options: SourceOptions) -> int:
    reader = LibsvmReader(0)
    pieces = (piece for part in parts for piece in ranges_of(part, options))
    return max(reader.width_of(piece, options) for piece in pieces)


def _rows(data: bytes) -> list[bytes]:
    rows = [line.partition(b"#")[0] for line in data.splitlines()]
    return [row for row in rows if row.strip()]


def _parsed(data: bytes, part: Part, first_row: RowNumber) -> Pairs:
    plain = read_pairs(data)
    return _parsed_slowly(data, part, first_row) if plain is None else plain


def _parsed_slowly(data: bytes, part: Part, first_row: RowNumber) -> Pairs:
    """Parse whatever Python takes for numbers, with comments; explain what is none."""
    rows = _rows(data)
    # At least one, for the types of nothing.
    starts = range(0, max(1, len(rows)), _ROWS_AT_ONCE)
    pieces = [_numbers(rows[start : start + _ROWS_AT_ONCE]) for start in starts]
    found = [piece for piece in pieces if piece is not None]
    if len(found) < len(pieces):
        raise _explained(rows, part, first_row)
    lengths, labels, indices, values = map(np.concatenate, zip(*found, strict=True))
    return lengths, labels, indices, values


def _numbers(rows: Sequence[bytes]) -> Pairs | None:
    """Return the numbers of rows, None if a row is none."""
    lengths = np.array([row.count(b":") for row in rows], dtype=np.intp)
    numbers = b" ".join(rows).replace(b":", b" ").split()
    is_label = np.zeros(len(numbers), dtype=bool)
    try:
        is_label[np.cumsum(1 + 2 * lengths) - 1 - 2 * lengths] = True
        flat = np.array(numbers, dtype=np.float64)
        pairs = flat[~is_label].reshape(-1, 2)
        # What is no number is not smaller either.
        if not (np.abs(pairs[:, 0]) <= _LARGEST_FLOAT).all():
            raise ValueError("an index that is no number here")
        indices = pairs[:, 0].astype(np.intp)
        if len(indices) == lengths.sum() and (indices == pairs[:, 0]).all():
            return lengths, flat[is_label], indices, pairs[:, 1]
    except (ValueError, IndexError):
        pass
    return None


def _explained(
    rows: Sequence[bytes], part: Part, first_row: RowNumber
) -> CorruptFileError:
    for number, row in enumerate(rows):
        label, *pairs = row.split()
        try:
            float(label)
            for pair in pairs:
                index, value = pair.split(b":")
                float(value)
                if abs(int(index)) > _LARGEST_FLOAT:
                    raise ValueError(index)
        except ValueError:
            shown = row[:60].decode(errors="replace")
            return CorruptFileError(
                f"{part.url}: each line must read 'label index:value ...', row "
                f"{first_row + number} is {shown!r}."
            )
    return CorruptFileError(f"{part.url}: must be a libsvm file, it is damaged.")


def _check_indices(
    lengths: NDArray[np.intp],
    indices: NDArray[np.intp],
    width: int,
    part: Part,
    first_row: RowNumber,
) -> None:
    is_outside = (indices < 1) | (indices > width)
    if is_outside.any():
        at = int(np.argmax(is_outside))
        row = int(np.repeat(np.arange(len(lengths)), lengths)[at])
        raise ColumnError(
            f"{part.url}: column 'features' must hold indices from 1 to {width}, got "
            f"{int(indices[at])} in row {first_row + row}."
        )
