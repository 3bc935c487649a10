"""Large files of lines as several partitions, each the lines of a range of bytes."""

import itertools
from abc import abstractmethod
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from daskdl.data.row_number import RowNumber
from daskdl.data.sources.source import SourceOptions
from daskdl.errors import DaskdlError
from daskdl_bridge.listing import Part
from daskdl_bridge.readers.columns import ExampleColumns
from daskdl_bridge.readers.lines import (
    has_plain_lines,
    is_compressed,
    read_blocks_of_lines,
    read_lines,
)
from daskdl_bridge.readers.table_reader import TablePartition, TableReader

__all__ = [
    "LineReader",
    "cut",
    "partitions_of_lines",
    "pieces_before",
    "ranges_of",
]

# A range takes some six times its size while it is loaded, which the smallest worker
# has room for, and makes some blocks of examples. It takes so long to be read that
# looking for its first line costs nothing.
_RANGE_BYTES = 16 << 20

# What is held of the lines before a range, while they are gone through.
_PIECE_BYTES = 1 << 20


class LineReader(TableReader):
    """Reads files in which each line is a row or none, and so each range of a file."""

    form: ClassVar[str]

    @abstractmethod
    def table_of(
        self,
        data: bytes,
        columns: list[str],
        part: Part,
        first_row: RowNumber,
        options: SourceOptions,
    ) -> Any:
        """Return a pyarrow.Table of some lines; raise as `TableReader.read_blocks`.

        Parameters
        ----------
        data : bytes
            The lines, decompressed.
        columns : list of str
        part : Part
            The lines' range, for headers and messages.
        first_row : int or RowNumber
            Number within the file of the first row, for messages.
        options : SourceOptions
        """

    def read(self, part: Part, columns: list[str], options: SourceOptions) -> Any:
        """Return a pyarrow.Table of a range or a whole file."""
        data = read_lines(part, self.form, options.storage_options)
        return self.table_of(
            data, columns, part, self.first_row(part, options), options
        )

    def read_blocks(
        self, part: Part, columns: list[str], options: SourceOptions
    ) -> Generator[Any, None, None]:
        """Yield the table of a range; of a compressed file, one of each block."""
        if not is_compressed(part) or _too_large(options):
            yield self.read(part, columns, options)
            return
        first_row = 0
        for piece, data in self.blocks(part, options):
            table = self.table_of(data, columns, piece, first_row, options)
            first_row += table.num_rows
            # Without a row, nothing tells the width of what is fitted to others.
            if table.num_rows:
                yield table
        if not first_row:
            yield table

    def blocks(
        self, part: Part, options: SourceOptions
    ) -> Iterator[tuple[Part, bytes]]:
        """Yield the lines of a compressed file, as much at a time as a range has."""
        return read_blocks_of_lines(
            part, self.form, options.storage_options, _RANGE_BYTES
        )

    @abstractmethod
    def count(self, data: bytes, options: SourceOptions) -> int:
        """Return the number of rows in some lines.

        Raises
        ------
        UnicodeDecodeError
            If they are none of the encoding.
        """

    def rows_before(self, part: Part, options: SourceOptions) -> int:
        """Count the rows of a file in front of a part of it, a piece at a time."""
        return sum(
            self.count(read_lines(piece, self.form, options.storage_options), options)
            for piece in pieces_before(part)
        )

    def first_row(self, part: Part, options: SourceOptions) -> RowNumber:
        """Return the number in its file of a part's first row, for messages."""
        is_first = part.span is None or part.span[0] == 0
        return 0 if is_first else _RowInFile(self, part, options)


@dataclass(frozen=True)
class _RowInFile:
    """The number of a row in its file; the rows before are counted if it is told.

    Parameters
    ----------
    reader : LineReader
    part : Part
        The range in which the row is.
    options : SourceOptions
    row : int
        Its number in the range.
    """

    reader: LineReader
    part: Part
    options: SourceOptions
    row: int = 0

    def __add__(self, rows: int, /) -> "_RowInFile":
        return replace(self, row=self.row + rows)

    def __str__(self) -> str:
        try:
            before = self.reader.rows_before(self.part, self.options)
        except (DaskdlError, OSError, UnicodeError):
            # What there is to say matters more than the number.
            start, stop = self.part.span or (0, self.part.size)
            return f"{self.row} of bytes {start} to {stop}"
        return str(before + self.row)


def partitions_of_lines(
    parts: Sequence[Part],
    reader: LineReader,
    columns: ExampleColumns,
    options: SourceOptions,
) -> list[TablePartition]:
    """Make a partition of each range of each file, in order."""
    return [
        TablePartition(
            name=piece.place,
            rows=0 if piece.size == 0 else None,
            part=piece,
            reader=reader,
            columns=columns,
            options=options,
            first_row=reader.first_row(piece, options),
            too_large="" if piece.span else _too_large(options),
        )
        for part in parts
        for piece in ranges_of(part, options)
    ]


def ranges_of(part: Part, options: SourceOptions) -> list[Part]:
    """Return the ranges of a file, of equal size; the file itself if it has but one.

    Compressed files have one, of several blocks, and so have files whose lines can be
    told apart only from their beginning: of several lines a row, or of characters of
    several bytes.
    """
    if is_compressed(part) or _too_large(options):
        return [part]
    return cut(part, _RANGE_BYTES)


def cut(part: Part, most_bytes: int) -> list[Part]:
    """Return spans of a file, of equal size; the file itself if one is enough."""
    n_spans = -(-part.size // most_bytes)
    if n_spans < 2:
        return [part]
    offsets = [part.size * number // n_spans for number in range(n_spans + 1)]
    return [
        replace(part, span=(start, stop)) for start, stop in itertools.pairwise(offsets)
    ]


def _too_large(options: SourceOptions) -> str:
    """Return that files are read as a whole, and what to do about it; else nothing."""
    if options.multi_line:
        return "With multi_line a file is read as a whole: write smaller ones."
    if not has_plain_lines(options.encoding):
        return (
            f"In the encoding {options.encoding} a file is read as a whole: write it "
            "in UTF-8, or write smaller ones."
        )
    return ""


def pieces_before(part: Part) -> Iterator[Part]:
    """Yield what lies in its file before a part: pieces small enough to hold."""
    end = 0 if part.span is None else part.span[0]
    for start in range(0, end, _PIECE_BYTES):
        yield replace(part, span=(start, min(start + _PIECE_BYTES, end)))
