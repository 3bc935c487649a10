"""Lines of text that match a regular expression, whose groups are the columns.

Groups without a name are ``_c0``, ``_c1`` and so on, if no group has one. Without a
pattern a line is the column ``value``, as in Spark. Features and labels are numbers as
CSV files have them, and keys are text.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from daskdl.data.row_number import RowNumber
from daskdl.data.sources.source import SourceOptions
from daskdl.data.sources.text_options import compiled_pattern
from daskdl.errors import ColumnError, CorruptFileError, DataError
from daskdl_bridge.listing import Part
from daskdl_bridge.readers.columns import ExampleColumns, check_types, resolve_columns
from daskdl_bridge.readers.csv_head import is_number
from daskdl_bridge.readers.error_location import ErrorLocation
from daskdl_bridge.readers.file_summary import FileSummary, unknown_rows
from daskdl_bridge.readers.keys import with_key_type
from daskdl_bridge.readers.line_ranges import LineReader, partitions_of_lines
from daskdl_bridge.readers.lines import as_utf8, read_head
from daskdl_bridge.readers.table_reader import TablePartition

__all__ = ["TextReader", "open_parts", "summarize_parts"]

_VALUE = "value"
_SAMPLED_ROWS = 1000
# Each cell is an object while it is read, of ten times the bytes of a number.
_ROWS_AT_ONCE = 1 << 12
_SHOWN = 60


@dataclass(frozen=True)
class TextReader(LineReader):
    """Reads columns of lines.

    Parameters
    ----------
    pattern : re.Pattern or None
        Its groups are the columns.
    columns : ExampleColumns, optional
        What is made of the columns: those that become numbers are read as such.
    classes : str, optional
        The label, if it stays text because it holds names of classes.
    """

    form = "text"

    pattern: re.Pattern[str] | None
    columns: ExampleColumns | None = None
    classes: str | None = None

    def table_of(
        self,
        data: bytes,
        columns: list[str],
        part: Part,
        first_row: RowNumber,
        options: SourceOptions,
    ) -> Any:
        """Return a pyarrow.Table of numbers and text; see `LineReader.table_of`."""
        lines = _lines(data, part, options)
        # At least one table, for the types of nothing.
        tables = [
            self._table(
                lines[row : row + _ROWS_AT_ONCE], columns, part, first_row + row
            )
            for row in range(0, max(1, len(lines)), _ROWS_AT_ONCE)
        ]
        return pa.concat_tables(tables)

    def count(self, data: bytes, options: SourceOptions) -> int:
        """Return the number of lines."""
        return len(as_utf8(data, options.encoding).splitlines())

    def cells(
        self, lines: Sequence[bytes], part: Part, first_row: RowNumber
    ) -> dict[str, list[str | None]]:
        """Return the text of each column, None where a group is not met.

        Raises
        ------
        DataError
            If a line does not match the pattern.
        CorruptFileError
            If a line is none of the encoding.
        """
        rows = [
            self._row(line, part, first_row + row) for row, line in enumerate(lines)
        ]
        return {
            name: [cells[index] for cells in rows]
            for index, name in enumerate(_names(self.pattern))
        }

    def _row(self, line: bytes, part: Part, row: RowNumber) -> Sequence[str | None]:
        try:
            text = line.decode()
        except UnicodeDecodeError as error:
            raise CorruptFileError(
                f"{part.url}: must be a whole text file in UTF-8, line {row + 1} is "
                f"damaged or in another encoding: {error}. Give encoding if it is "
                "another."
            ) from error
        if self.pattern is None:
            return [text]
        found = self.pattern.fullmatch(text)
        if found is None:
            raise DataError(
                f"{part.url}: each line must match pattern {self.pattern.pattern!r}, "
                f"line {row + 1} is {text[:_SHOWN]!r}."
            )
        return [found[group] for group in _groups(self.pattern)]

    def _table(
        self,
        lines: Sequence[bytes],
        columns: list[str],
        part: Part,
        first_row: RowNumber,
    ) -> Any:
        found = self.cells(lines, part, first_row)
        numeric = set() if self.columns is None else set(self.columns.numeric())
        numeric.discard(self.classes or "")
        made = {
            name: self._numbers(found[name], name, part, first_row)
            if name in numeric
            else pa.array(found[name], pa.string())
            for name in columns
        }
        # Where all columns are in the path, one without a name has as many rows.
        return pa.table(made or {"": pa.nulls(len(lines))})

    def _numbers(
        self, cells: list[str | None], name: str, part: Part, first_row: RowNumber
    ) -> Any:
        for row, cell in enumerate(cells):
            if cell and not is_number(cell):
                hint = "" if self.columns is None else self.columns.hint_for_text(name)
                raise ColumnError(
                    f"{ErrorLocation(part.url, name)} must hold numbers, got {cell!r} "
                    f"in line {first_row + (row + 1)}.{hint}"
                )
        return pa.array([float(cell) if cell else None for cell in cells], pa.float64())


def open_parts(parts: Sequence[Part], options: SourceOptions) -> list[TablePartition]:
    """Make partitions of text files; none is read.

    Parameters
    ----------
    parts : sequence of Part
        Plain, or compressed by one of Hadoop's codecs.
    options : SourceOptions
        Their `pattern` names the columns.

    Raises
    ------
    ColumnError
        If a column does not exist, or is all of a line and should be a number.
    """
    pattern = _pattern(options)
    columns = resolve_columns(options, _names(pattern), parts[0])
    if pattern is None:
        check_types(columns, {_VALUE: pa.string()}, parts[0].url, options)
    classes = columns.class_column(options)
    if classes is not None and _kinds(parts[0], options).get(classes) != "text":
        classes = None
    numeric = set(columns.numeric()) - {classes}
    types = {
        name: pa.float64() if name in numeric else pa.string() for name in columns.all()
    }
    columns = with_key_type(columns, parts, [types])
    reader = TextReader(pattern, columns, classes)
    return partitions_of_lines(parts, reader, columns, options)


def summarize_parts(parts: Sequence[Part], options: SourceOptions) -> FileSummary:
    """Tell the columns of text files, and the kinds of the first lines of the first."""
    return FileSummary(types=_kinds(parts[0], options), rows=unknown_rows(parts))


def _kinds(part: Part, options: SourceOptions) -> dict[str, str]:
    """Return for each column ``number`` or ``text``, as the first lines have it."""
    head = read_head(part, "text", options)
    lines = _lines(head, part, options, is_whole=False)
    found = TextReader(_pattern(options)).cells(lines[:_SAMPLED_ROWS], part, 0)
    return {
        name: "number" if all(is_number(c) for c in cells if c) else "text"
        for name, cells in found.items()
    }


def _lines(
    data: bytes, part: Part, options: SourceOptions, *, is_whole: bool = True
) -> list[bytes]:
    try:
        return as_utf8(data, options.encoding, is_whole=is_whole).splitlines()
    except UnicodeDecodeError as error:
        raise CorruptFileError(
            f"{part.place}: must be a whole text file in {options.encoding}, it is "
            f"damaged or in another encoding: {error}."
        ) from error


def _pattern(options: SourceOptions) -> re.Pattern[str] | None:
    if options.pattern is None:
        return None
    return compiled_pattern("pattern", options.pattern)


def _groups(pattern: re.Pattern[str]) -> list[int]:
    """Return the numbers of the groups that are columns."""
    return sorted(pattern.groupindex.values()) or list(range(1, pattern.groups + 1))


def _names(pattern: re.Pattern[str] | None) -> list[str]:
    if pattern is None:
        return [_VALUE]
    names = sorted(pattern.groupindex, key=pattern.groupindex.__getitem__)
    return names or [f"_c{index}" for index in range(pattern.groups)]
