"""CSV files as Spark writes them: a backslash escapes, each part has its header.

An empty cell is null, a quoted empty one is an empty string. Keys are text, because CSV
does not tell the number 7 from the text 007. A byte order mark, as Excel writes, is
dropped.
"""

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv

from daskdl.data.sources.source import SourceOptions
from daskdl.errors import ColumnError, CorruptFileError, DataError
from daskdl_bridge.listing import Part
from daskdl_bridge.readers.columns import ExampleColumns, check_exist, resolve_columns
from daskdl_bridge.readers.examples import TablePartition, TableReader, whole_files
from daskdl_bridge.readers.keys import with_key_type
from daskdl_bridge.readers.lines import read_head, read_lines
from daskdl_bridge.readers.place import Place, reading

__all__ = ["CsvReader", "open_parts"]


@dataclass(frozen=True)
class CsvReader(TableReader):
    """Reads columns of CSV files.

    Parameters
    ----------
    names : tuple of str
        Of all columns in the first part, in order.
    has_header : bool
        Whether each part starts with its own names.
    text : frozenset of str
        Columns that stay text.
    """

    names: tuple[str, ...]
    has_header: bool
    text: frozenset[str] = frozenset()

    def read(self, part: Part, columns: list[str], options: SourceOptions) -> Any:
        """Return a pyarrow.Table of floats and text; see `TableReader.read`."""
        types = {
            name: pa.string() if name in self.text else pa.float64() for name in columns
        }
        data = read_lines(part, "CSV", options.storage_options)
        if not data:
            return pa.table({name: pa.array([], kind) for name, kind in types.items()})
        names = self.names
        if self.has_header:
            names = tuple(next(_rows(data, options.delimiter), []))
            check_exist(columns, names, part.url)
        try:
            return pacsv.read_csv(
                io.BytesIO(data),
                pacsv.ReadOptions(
                    column_names=None if self.has_header else list(names)
                ),
                pacsv.ParseOptions(
                    delimiter=options.delimiter,
                    double_quote=False,
                    escape_char="\\",
                    newlines_in_values=True,
                ),
                pacsv.ConvertOptions(
                    column_types=types,
                    include_columns=columns,
                    null_values=[""],
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=False,
                ),
            )
        except pa.ArrowInvalid as error:
            # pyarrow names no row when it parses in blocks.
            self._explain(data, names, columns, part, options.delimiter)
            with reading(part.url, "CSV"):
                raise error

    def _explain(
        self,
        data: bytes,
        names: Sequence[str],
        columns: list[str],
        part: Part,
        delimiter: str,
    ) -> None:
        rows = _rows(data, delimiter)
        if self.has_header:
            next(rows)
        indices = [(name, names.index(name)) for name in columns]
        for row, cells in enumerate(_or_corrupt(rows, part)):
            if cells and len(cells) != len(names):
                raise DataError(
                    f"{part.url}: row {row} must have {len(names)} cells as the first "
                    f"one has, got {len(cells)}."
                )
            for name, index in indices if cells else ():
                if name not in self.text and not _is_number(cells[index]):
                    raise ColumnError(
                        f"{Place(part.url, name)} must hold numbers, got "
                        f"{cells[index]!r} in row {row}."
                    )


def open_parts(parts: Sequence[Part], options: SourceOptions) -> list[TablePartition]:
    """Make a partition of each CSV file; the head of one file is read.

    Parameters
    ----------
    parts : sequence of Part
        Plain, or compressed by gzip or bzip2.
    options : SourceOptions
        Without `header`, the first row is one if no cell of it is a number. Without a
        header, columns are called ``_c0``, ``_c1``, ... as in Spark.

    Raises
    ------
    ColumnError
        If a column does not exist.
    """
    part, head = _first_with_rows(parts, options)
    first = next(_or_corrupt(_rows(head, options.delimiter), part), [])
    has_header = options.header
    if has_header is None:
        has_header = bool(first) and not any(_is_number(c) for c in first if c)
    names = first if has_header else [f"_c{i}" for i in range(len(first))]
    available = [*names, *part.values]
    columns = resolve_columns(options, available, part.url)
    text = _text_columns(columns)
    types = {n: pa.string() if n in text else pa.float64() for n in columns.all()}
    columns = with_key_type(columns, parts, [types])
    reader = CsvReader(tuple(names), has_header, text)
    return whole_files(parts, reader, columns, options)


def _first_with_rows(
    parts: Sequence[Part], options: SourceOptions
) -> tuple[Part, bytes]:
    for part in parts:
        if head := read_head(part, "CSV", options.storage_options):
            return part, head
    return parts[0], b""


def _text_columns(columns: ExampleColumns) -> frozenset[str]:
    is_text = columns.key is not None and columns.key not in columns.numeric()
    return frozenset([columns.key] if is_text and columns.key is not None else [])


def _rows(data: bytes, delimiter: str) -> Iterator[list[str]]:
    # newline="": the csv module itself keeps line ends inside quotes. The codec drops
    # a byte order mark, as pyarrow does: it would be part of the first name.
    text = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8-sig", newline="")
    return csv.reader(
        text, delimiter=delimiter, escapechar="\\", doublequote=False, strict=True
    )


def _or_corrupt(rows: Iterator[list[str]], part: Part) -> Iterator[list[str]]:
    try:
        yield from rows
    except (csv.Error, UnicodeDecodeError) as error:
        raise CorruptFileError(
            f"{part.url}: must be a whole CSV file, it is cut short or damaged: {error}"
        ) from error


def _is_number(cell: str) -> bool:
    try:
        float(cell or "nan")
    except ValueError:
        return False
    return True
