"""XML files as tables: the elements of `row_tag` are the rows, as in Spark.

A file has no place to begin at in its midst, so that it is one partition, read by
blocks. Features and labels are numbers, and keys stay the text that stands in the file.
"""

import itertools
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa

from daskdl.checks import did_you_mean, some
from daskdl.data.sources.source import SourceOptions
from daskdl.errors import ColumnError, OptionError
from daskdl_bridge.listing import Part
from daskdl_bridge.readers.columns import ExampleColumns, resolve_columns
from daskdl_bridge.readers.csv_head import is_number
from daskdl_bridge.readers.file_summary import FileSummary, unknown_rows
from daskdl_bridge.readers.keys import with_key_type
from daskdl_bridge.readers.lines import open_plain
from daskdl_bridge.readers.table_partitions import file_partitions
from daskdl_bridge.readers.table_reader import TablePartition, TableReader
from daskdl_bridge.readers.xml_rows import Path, XmlRow, tags_in, xml_rows

__all__ = ["XmlReader", "open_parts", "summarize_parts"]

_FORM = "XML"

# Cells are texts of Python, of ten times the bytes of a number.
_ROWS_AT_ONCE = 1 << 12
_BLOCK_CHARACTERS = 1 << 20

# Rows that are looked at to learn the columns, and files: one may have no row.
_SAMPLED_ROWS = 1000
_FILES_LOOKED_AT = 100

_NUMBER, _TEXT = pa.float64(), pa.string()

_Sampled: TypeAlias = dict[Path, list[list[str | None]]]


@dataclass(frozen=True)
class XmlReader(TableReader):
    """Reads columns of XML files.

    Parameters
    ----------
    types : tuple of (str, pyarrow.DataType)
        Of the columns to be read: numbers, text, or lists of those.
    columns : ExampleColumns
        What is made of them, for messages.
    """

    types: tuple[tuple[str, Any], ...]
    columns: ExampleColumns

    def read_blocks(
        self, part: Part, columns: list[str], options: SourceOptions
    ) -> Generator[Any, None, None]:
        """Yield tables of some of the rows."""
        held: list[XmlRow] = []
        n_characters, is_empty = 0, True
        for row in _rows(part, options):
            held.append(row)
            n_characters += sum(
                len(cell or "") for cells in row.cells.values() for cell in cells
            )
            if len(held) == _ROWS_AT_ONCE or n_characters >= _BLOCK_CHARACTERS:
                yield self._table(held, columns, part)
                held, n_characters, is_empty = [], 0, False
        if held or is_empty:
            yield self._table(held, columns, part)

    def _table(self, rows: list[XmlRow], columns: list[str], part: Part) -> Any:
        types = dict(self.types)
        made = {
            name: pa.array(
                [self._value(row, (name,), types[name], part) for row in rows],
                types[name],
            )
            for name in columns
        }
        # Where all columns are in the path, one without a name has as many rows.
        return pa.table(made or {"": pa.nulls(len(rows))})

    def _value(self, row: XmlRow, path: Path, arrow_type: Any, part: Part) -> Any:
        cells, name = row.cells.get(path, []), ".".join(path)
        if pa.types.is_list(arrow_type):
            of_one = arrow_type.value_type
            return [self._plain(c, of_one, name, row, part) for c in cells] or None
        if len(cells) > 1:
            raise ColumnError(
                f"{part.url}: column {name!r} must hold one value a row as in the "
                f"first rows, the one at line {row.line} has {len(cells)}."
            )
        if pa.types.is_struct(arrow_type):
            return {
                one.name: self._value(row, (*path, one.name), one.type, part)
                for one in arrow_type
            }
        return self._plain(cells[0], arrow_type, name, row, part) if cells else None

    def _plain(
        self, cell: str | None, arrow_type: Any, name: str, row: XmlRow, part: Part
    ) -> Any:
        if cell is None:
            raise ColumnError(
                f"{part.url}: column {name!r} must hold text or numbers, in the row at "
                f"line {row.line} it holds elements. Have them written side by side."
            )
        if not cell:
            return None
        if arrow_type == _TEXT:
            return cell
        if not is_number(cell):
            raise ColumnError(
                f"{part.url}: column {name!r} must hold numbers, got {cell[:60]!r} in "
                f"the row at line {row.line}.{self.columns.hint_for_text(name)}"
            )
        return float(cell)


def open_parts(parts: Sequence[Part], options: SourceOptions) -> list[TablePartition]:
    """Make a partition of each XML file; the first rows tell the columns.

    Parameters
    ----------
    parts : sequence of Part
        Plain or compressed as a whole, by gzip for instance.
    options : SourceOptions
        With `row_tag`. A column is a list where one of the first rows has several
        children of that tag, or it is a time series.

    Raises
    ------
    OptionError
        If `row_tag` is not given.
    ColumnError
        If a column does not exist, or no file has an element of `row_tag`.
    CorruptFileError, DataError
        See `daskdl_bridge.readers.xml_rows.xml_rows`, as far as the first rows.
    """
    sampled = _sampled(parts, options)
    top = [path[0] for path in sampled if len(path) == 1]
    columns = resolve_columns(options, top, parts[0], has_structs=True)
    types = _types(columns, sampled, parts[0], options)
    columns = with_key_type(columns, parts, [types])
    reader = XmlReader(tuple(types.items()), columns)
    return file_partitions(parts, reader, columns, options)


def summarize_parts(parts: Sequence[Part], options: SourceOptions) -> FileSummary:
    """Tell the columns of XML files by the first rows."""
    sampled = _sampled(parts, options)
    types = {".".join(path): _in_words(found) for path, found in sampled.items()}
    return FileSummary(types=types, rows=unknown_rows(parts))


def _sampled(parts: Sequence[Part], options: SourceOptions) -> _Sampled:
    """Return the cells of each column in the first rows that there are."""
    found: _Sampled = {}
    for part in parts[:_FILES_LOOKED_AT]:
        for row in itertools.islice(_rows(part, options), _SAMPLED_ROWS):
            for path, cells in row.cells.items():
                found.setdefault(path, []).append(cells)
        if found:
            return found
    _refuse_other_tags(parts, options)
    return found


def _refuse_other_tags(parts: Sequence[Part], options: SourceOptions) -> None:
    """Refuse files without a row that hold more than the element around rows."""
    for part in parts[:_FILES_LOOKED_AT]:
        if part.size == 0:
            continue
        with open_plain(part, _FORM, options.storage_options) as stream:
            _, *within = tags_in(stream)
        if within:
            raise ColumnError(
                f"{part.url}: row_tag must name an element of the file, got "
                f"{options.row_tag!r}; there are {some(within)}."
                f"{did_you_mean(options.row_tag, within)}"
            )


def _types(
    columns: ExampleColumns, sampled: _Sampled, part: Part, options: SourceOptions
) -> dict[str, Any]:
    """Return the types of columns that are to be read, structs of what is within."""
    numeric, series = set(columns.numeric()), set(columns.series(options))
    classes = columns.class_column(options)
    leaves: dict[Path, Any] = {}
    for name in columns.all():
        column = columns.holding(name)
        if (column,) not in sampled:
            continue
        rest = name[len(column) + 1 :]
        path = (column, *rest.split(".")) if rest else (column,)
        cells = sampled.get(path)
        if cells is None or any(None in found for found in cells):
            inner = [".".join(one) for one in sampled if one[0] == column and one[1:]]
            must = "must exist, it does not" if cells is None else "must hold text"
            raise ColumnError(
                f"{part.url}: column {name!r} {must}: {column!r} holds "
                f"{some(inner) or 'text'}.{did_you_mean(name, inner)}"
            )
        is_class = name == classes and _in_words(cells) == "text"
        of_one = _NUMBER if name in numeric and not is_class else _TEXT
        leaves[path] = pa.list_(of_one) if name in series else _type(cells, of_one)
    return _structs(leaves)


def _structs(leaves: dict[Path, Any]) -> dict[str, Any]:
    """Return types by the first tag, of paths that go on structs."""
    by_tag: dict[str, dict[Path, Any]] = {}
    for path, kind in leaves.items():
        by_tag.setdefault(path[0], {})[path[1:]] = kind
    return {
        tag: inner[()] if () in inner else pa.struct([*_structs(inner).items()])
        for tag, inner in by_tag.items()
    }


def _type(rows: list[list[str | None]], of_one: Any) -> Any:
    return pa.list_(of_one) if any(len(cells) > 1 for cells in rows) else of_one


def _in_words(rows: list[list[str | None]]) -> str:
    cells = [cell for found in rows for cell in found]
    if None in cells:
        return "elements"
    word = "number" if all(is_number(cell) for cell in cells if cell) else "text"
    return f"list of {word}" if _type(rows, _TEXT) != _TEXT else word


def _rows(part: Part, options: SourceOptions) -> Iterator[XmlRow]:
    if options.row_tag is None:
        raise OptionError(
            f"{part.url}: row_tag must name the elements that are rows, got None. "
            "Spark's writer calls them ROW unless it is told otherwise."
        )
    if part.size == 0:
        return
    with open_plain(part, _FORM, options.storage_options) as stream:
        yield from xml_rows(stream, options.row_tag, part.url)
