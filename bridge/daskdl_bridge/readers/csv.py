"""CSV files, read as Spark reads them; each part has its own header.

An empty cell is null, quoted or not, unless `null_value` says otherwise. Keys are text,
because CSV does not tell the number 7 from the text 007. What Spark reads as null since
it cannot read it (rows of another length, text for numbers) is refused.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from daskdl.data.row_number import RowNumber
from daskdl.data.sources.source import SourceOptions
from daskdl.errors import ColumnError, DataError, OptionError
from daskdl_bridge.listing import Part
from daskdl_bridge.readers.columns import ExampleColumns, check_exist, resolve_columns
from daskdl_bridge.readers.csv_head import (
    csv_head,
    header_before,
    hint_for_delimiter,
    is_number,
    naming_text,
    safe_names,
)
from daskdl_bridge.readers.csv_numbers import groups_of_numbers, read_number_rows
from daskdl_bridge.readers.csv_text import CsvText, RaggedRowError, Row
from daskdl_bridge.readers.error_location import ErrorLocation, naming_damaged_file
from daskdl_bridge.readers.file_summary import FileSummary, unknown_rows
from daskdl_bridge.readers.keys import with_key_type
from daskdl_bridge.readers.line_ranges import LineReader, partitions_of_lines
from daskdl_bridge.readers.number_table import NumberTable
from daskdl_bridge.readers.table_reader import TablePartition

__all__ = ["CsvReader", "open_parts", "summarize_parts"]


def _read_in_blocks(*arguments: Any) -> Any:
    with pacsv.open_csv(*arguments) as blocks:
        return blocks.read_all()


# What pyarrow parses at once: a few rows at least, of a size that stays in a cache.
_BLOCK_BYTES = 1 << 18
_BLOCK_ROWS = 16
_MOST_BLOCK_BYTES = 2**31 - 1

# An empty line is a row whose only cell is null.
_REWRITTEN = pacsv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False)

# On Python 3.10 `read_csv` goes around a fault of its signals (bpo-42248): it looks for
# each frame of the stack among all objects of the process, which takes seconds.
_read_csv = pacsv.read_csv if sys.version_info >= (3, 11) else _read_in_blocks

_SPANNING = (
    " If cells may span lines, give multi_line=True (in a job multi_line: true)."
)


@dataclass(frozen=True)
class CsvReader(LineReader):
    """Reads columns of CSV files.

    Parameters
    ----------
    names : tuple of str
        Of all columns in the first part, in order.
    has_header : bool
        Whether each part starts with its own names.
    text : frozenset of str
        Columns that stay text.
    columns : ExampleColumns, optional
        What is made of the columns, for messages.
    """

    form = "CSV"

    names: tuple[str, ...]
    has_header: bool
    text: frozenset[str] = frozenset()
    columns: ExampleColumns | None = None

    def table_of(
        self,
        data: bytes,
        columns: list[str],
        part: Part,
        first_row: RowNumber,
        options: SourceOptions,
    ) -> Any:
        """Return a pyarrow.Table of floats and text; see `LineReader.table_of`."""
        with naming_text(part, options):
            text = CsvText.of(data, options)
            # Not kept beside what is made of it: it is as large.
            del data
            names = self.names
            if self.has_header:
                header = header_before(part, options)
                if not header:
                    header, text = text.header_and_rest()
                if not header:
                    return self._no_rows(columns)
                names = tuple(safe_names(header))
                check_exist(columns, names, part.url)
            if text.is_empty:
                return self._no_rows(columns)
            rows = self._number_rows(text, names, columns, options)
            if rows is not None:
                return rows
            return self._table(text, names, columns, part, first_row, options)

    def count(self, data: bytes, options: SourceOptions) -> int:
        """Return the number of rows in some lines, the header among them."""
        return CsvText.of(data, options).count()

    def rows_before(self, part: Part, options: SourceOptions) -> int:
        """Count the rows in front of a part of a file, without the header."""
        return max(0, super().rows_before(part, options) - self.has_header)

    def _no_rows(self, columns: list[str]) -> Any:
        return pa.table({name: pa.array([], self._kind(name)) for name in columns})

    def _number_rows(
        self,
        text: CsvText,
        names: Sequence[str],
        columns: list[str],
        options: SourceOptions,
    ) -> NumberTable | None:
        """Read numbers into rows; None where pyarrow has to make columns."""
        numbers = [name for name in columns if name not in self.text]
        if self.columns is None or not numbers or is_number(options.null_value):
            return None
        groups = groups_of_numbers(self.columns, numbers, options)
        found = read_number_rows(text, names, groups)
        if found is None:
            return None
        n_rows, arrays, has_nulls = found
        texts = self._texts(text, names, columns, options)
        if texts is None or any(len(column) != n_rows for column in texts.values()):
            return None
        return NumberTable(
            num_rows=n_rows,
            schema=pa.schema([(name, self._kind(name)) for name in columns]),
            groups=arrays,
            texts=texts,
            has_nulls=has_nulls,
        )

    def _texts(
        self,
        text: CsvText,
        names: Sequence[str],
        columns: list[str],
        options: SourceOptions,
    ) -> dict[str, Any] | None:
        """Return columns of text of plain cells; None where pyarrow refuses them."""
        texts = [name for name in columns if name in self.text]
        how = text.parse_options(len(names)) if texts else None
        if how is None:
            return None if texts else {}
        try:
            size = _block_bytes(text)
            table = self._parsed(text.buffer(), how, names, texts, options, size)
        except pa.ArrowInvalid:
            return None
        return {name: table.column(name) for name in texts}

    def _table(
        self,
        text: CsvText,
        names: Sequence[str],
        columns: list[str],
        part: Part,
        first_row: RowNumber,
        options: SourceOptions,
    ) -> Any:
        how = text.parse_options(len(names))
        if how is not None:
            try:
                size = _block_bytes(text)
                return self._parsed(text.buffer(), how, names, columns, options, size)
            except pa.ArrowInvalid:
                # The other way skips lines of blanks, and names the row.
                pass
        index_of = {name: index for index, name in enumerate(names)}
        indices = [index_of[name] for name in columns]
        try:
            data = text.rewritten(len(names), indices)
        except RaggedRowError as error:
            hint = hint_for_delimiter(names, options)
            if not hint and not options.multi_line:
                hint = _SPANNING
            raise DataError(
                f"{part.url}: row {first_row + error.row} must have {len(names)} cells "
                f"as the first one has, got {error.cells}.{hint}"
            ) from None
        if not data:
            return self._no_rows(columns)
        try:
            # In one block: pyarrow refuses a row that is longer than one.
            size = min(max(len(data), _BLOCK_BYTES), _MOST_BLOCK_BYTES)
            rows = pa.py_buffer(data)
            return self._parsed(rows, _REWRITTEN, columns, columns, options, size)
        except pa.ArrowInvalid as error:
            places = dict(zip(columns, indices, strict=True))
            self._explain(text.rows(), places, part, first_row, options)
            with naming_damaged_file(part.url, self.form):
                raise error

    def _parsed(
        self,
        rows: pa.Buffer,
        how: pacsv.ParseOptions,
        names: Sequence[str],
        columns: list[str],
        options: SourceOptions,
        block_bytes: int,
    ) -> Any:
        nothing = not options.null_value and not options.empty_value
        table = _read_csv(
            pa.BufferReader(rows),
            pacsv.ReadOptions(column_names=list(names), block_size=block_bytes),
            how,
            pacsv.ConvertOptions(
                column_types={name: self._kind(name) for name in columns},
                include_columns=columns,
                null_values=["", options.null_value],
                strings_can_be_null=True,
                quoted_strings_can_be_null=nothing,
            ),
        )
        return table if nothing else self._with_nulls(table, options)

    def _with_nulls(self, table: Any, options: SourceOptions) -> Any:
        """Apply `null_value` and `empty_value` to quoted cells."""
        for index, name in enumerate(table.column_names):
            if name not in self.text:
                continue
            column = table.column(index)
            column = pc.if_else(pc.equal(column, ""), options.empty_value, column)
            is_null = pc.equal(column, options.null_value)
            column = pc.if_else(is_null, pa.scalar(None, pa.string()), column)
            table = table.set_column(index, name, column)
        return table

    def _kind(self, name: str) -> Any:
        return pa.string() if name in self.text else pa.float64()

    def _explain(
        self,
        rows: Iterator[Row],
        indices: dict[str, int],
        part: Part,
        first_row: RowNumber,
        options: SourceOptions,
    ) -> None:
        for row, cells in enumerate(rows):
            for name, index in indices.items():
                cell = cells[index]
                if name not in self.text and cell and not is_number(cell):
                    hint = hint_for_delimiter(cells, options)
                    if not hint and self.columns is not None:
                        hint = self.columns.hint_for_text(name)
                    raise ColumnError(
                        f"{ErrorLocation(part.url, name)} must hold numbers, got "
                        f"{cell!r} in row {first_row + row}.{hint}"
                    )


def open_parts(parts: Sequence[Part], options: SourceOptions) -> list[TablePartition]:
    """Make partitions of CSV files; the head of one file is read.

    Parameters
    ----------
    parts : sequence of Part
        Plain, or compressed by one of Hadoop's codecs.
    options : SourceOptions
        Without `header`, the first row is one if no cell of it is a number. Without a
        header, columns are called ``_c0``, ``_c1``, ... as in Spark.

    Raises
    ------
    ColumnError
        If a column does not exist.
    """
    head = csv_head(parts, options)
    try:
        columns = resolve_columns(options, head.names, head.part)
    except (ColumnError, OptionError) as error:
        raise type(error)(f"{error}{head.hint}") from None
    text = _text_columns(columns)
    classes = columns.class_column(options)
    if classes is not None and head.kinds().get(classes) == "text":
        text |= {classes}
    types = {n: pa.string() if n in text else pa.float64() for n in columns.all()}
    columns = with_key_type(columns, parts, [types])
    reader = CsvReader(head.names, head.has_header, text, columns)
    return partitions_of_lines(parts, reader, columns, options)


def summarize_parts(parts: Sequence[Part], options: SourceOptions) -> FileSummary:
    """Tell the columns of CSV files; the head of one file is read."""
    head = csv_head(parts, options)
    return FileSummary(
        types=head.kinds(), rows=unknown_rows(parts), hint=head.hint.strip()
    )


def _block_bytes(text: CsvText) -> int:
    rows_bytes = _BLOCK_ROWS * text.first_line_bytes()
    return min(max(_BLOCK_BYTES, rows_bytes), _MOST_BLOCK_BYTES)


def _text_columns(columns: ExampleColumns) -> frozenset[str]:
    return frozenset(columns.all()).difference(columns.numeric())
