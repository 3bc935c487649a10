"""Files with one JSON object a line, as Spark writes them, or one document each.

Spark leaves null fields out, so a column that is null throughout a file is missing from
it, and writes NaN and infinite numbers as text.
"""

import io
import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.json as pajson

from daskdl.data.row_number import RowNumber
from daskdl.data.sources.source import SourceOptions
from daskdl.errors import ColumnError, CorruptFileError, OptionError
from daskdl_bridge.listing import Part
from daskdl_bridge.readers.columns import ExampleColumns, check_types, resolve_columns
from daskdl_bridge.readers.file_summary import FileSummary, type_in_words, unknown_rows
from daskdl_bridge.readers.keys import with_key_type
from daskdl_bridge.readers.line_ranges import LineReader, partitions_of_lines
from daskdl_bridge.readers.lines import as_utf8, read_head, read_lines
from daskdl_bridge.readers.nested import type_of, with_type
from daskdl_bridge.readers.table_reader import TablePartition
from daskdl_bridge.readers.vectors import VECTOR

__all__ = ["JsonReader", "open_parts", "summarize_parts"]

_NOT_FINITE = {"NaN", "Infinity", "-Infinity"}

# What pyarrow raises for numbers beyond its own, and for halves of characters, which
# JSON can name alone.
_NO_VALUE = (OverflowError, UnicodeEncodeError)

# Levels of lists and objects in a row; Spark's own nested types have fewer.
_DEEPEST = 100

# Rows that are looked at to learn the columns and their types.
_SAMPLED_ROWS = 1000

# What stands where a blank line may begin.
_BEFORE_BLANK_LINES = (b"\r", b"\n\n", b"\n ", b"\n\t")

# Fields that are null are left out, so that one file may not have all columns.
_FILES_LOOKED_AT = 5


@dataclass(frozen=True)
class JsonReader(LineReader):
    """Reads columns of JSON files.

    Parameters
    ----------
    types : tuple of (str, pyarrow.DataType)
        Of the columns to be read, as the first part file has them.
    """

    form = "JSON"

    types: tuple[tuple[str, Any], ...]

    def table_of(
        self,
        data: bytes,
        columns: list[str],
        part: Part,
        first_row: RowNumber,
        options: SourceOptions,
    ) -> Any:
        """Return a pyarrow.Table with a null where a field is missing."""
        data = _lines(data, part, options)
        types = dict(self.types)
        schema = pa.schema([(name, types[name]) for name in columns])
        if not data.strip():
            return schema.empty_table()
        table = _read_fast(data, schema)
        if table is None:
            table = _read_slowly(data, schema, part, first_row)
        return table

    def count(self, data: bytes, options: SourceOptions) -> int:
        """Return the number of rows in some lines."""
        return _n_lines(as_utf8(data, options.encoding))


def open_parts(parts: Sequence[Part], options: SourceOptions) -> list[TablePartition]:
    """Make partitions of JSON files; the first lines of files tell the columns.

    Parameters
    ----------
    parts : sequence of Part
        Plain, or compressed by one of Hadoop's codecs.
    options : SourceOptions
        Columns and what to make of them.

    Raises
    ------
    ColumnError
        If a column does not exist or cannot become numbers.
    CorruptFileError
        If a line is no JSON object.
    OptionError
        If all columns are to be kept.
    """
    if options.keep == "all":
        raise OptionError(
            f"{parts[0].url}: keep must name the columns of JSON files, which do not "
            "tell all of theirs, got 'all'."
        )
    part, columns, types = _resolved(parts, options)
    check_types(columns, types, part.url, options)
    # Numbers that were whole where they were sampled need not be so everywhere.
    for name in columns.numeric():
        if type_of(name, types) == pa.int64():
            types = with_type(name, types, pa.float64())
    columns = with_key_type(columns, parts, [types])
    reader = JsonReader(tuple((n, types[n]) for n in columns.stored() if n in types))
    return partitions_of_lines(parts, reader, columns, options)


def summarize_parts(parts: Sequence[Part], options: SourceOptions) -> FileSummary:
    """Summarize JSON files by the heads of a few of them."""
    sampled: dict[str, list[Any]] = {}
    for part in parts[:_FILES_LOOKED_AT]:
        _sample(part, options, sampled)
    types = {name: type_in_words(_type(values)) for name, values in sampled.items()}
    return FileSummary(types=types, rows=unknown_rows(parts))


def _resolved(
    parts: Sequence[Part], options: SourceOptions
) -> tuple[Part, ExampleColumns, dict[str, Any]]:
    """Read heads of files until all columns that the options name have been met."""
    sampled: dict[str, list[Any]] = {}
    for part in parts:
        _sample(part, options, sampled)
        is_last = part is parts[-1]
        try:
            columns = resolve_columns(options, sampled, part, has_structs=True)
        except (ColumnError, OptionError):
            if is_last:
                raise
            continue
        break
    return part, columns, {name: _type(values) for name, values in sampled.items()}


def _sample(part: Part, options: SourceOptions, sampled: dict[str, list[Any]]) -> None:
    """Add the values of the first rows of a file, without nulls."""
    head = _head(part, options)
    for record in itertools.islice(_records(head, part), _SAMPLED_ROWS):
        for name, value in record.items():
            if value is not None:
                sampled.setdefault(name, []).append(value)


def _head(part: Part, options: SourceOptions) -> bytes:
    if options.multi_line:
        data = read_lines(part, "JSON", options.storage_options)
        return _lines(data, part, options)
    data = read_head(part, "JSON", options)
    return _lines(data, part, options, is_whole=False)


def _lines(
    data: bytes, part: Part, options: SourceOptions, *, is_whole: bool = True
) -> bytes:
    """Return the text as one object a line in UTF-8."""
    try:
        data = as_utf8(data, options.encoding, is_whole=is_whole)
    except UnicodeDecodeError as error:
        raise CorruptFileError(
            f"{part.place}: must be a whole JSON file in {options.encoding}, it is "
            f"damaged or in another encoding: {error}."
        ) from error
    if not options.multi_line or not data.strip():
        return data
    try:
        document = json.loads(data)
        if _opened(data) > _DEEPEST:
            # The list of all rows is a level of its own.
            _check_depth(document)
    except (RecursionError, ValueError) as error:
        raise CorruptFileError(
            f"{part.url}: must be one JSON document with multi_line, it is not: {error}"
        ) from error
    records = document if isinstance(document, list) else [document]
    return b"\n".join(json.dumps(record).encode() for record in records)


def _type(values: list[Any]) -> Any:
    """Return the Arrow type of values without null; integers in lists are floats."""
    if all(_is_number(value) for value in values):
        has_float = any(not isinstance(value, int) for value in values)
        return pa.float64() if has_float else pa.int64()
    if all(isinstance(value, list) for value in values):
        elements = [one for value in values for one in value if one is not None]
        inner = _type(elements) if elements else pa.float64()
        return pa.list_(pa.float64() if pa.types.is_integer(inner) else inner)
    if all(isinstance(v, dict) and {"type", "values"} <= v.keys() for v in values):
        return VECTOR
    try:
        return pa.array(values).type
    except (pa.ArrowInvalid, pa.ArrowTypeError, *_NO_VALUE):
        # The first value decides; loading names the row of the first that differs.
        return _type(values[:1]) if len(values) > 1 else pa.string()


def _is_number(value: Any) -> bool:
    if isinstance(value, str):
        return value in _NOT_FINITE
    return isinstance(value, int | float) and not isinstance(value, bool)


def _records(
    data: bytes, part: Part, first_row: RowNumber = 0
) -> Iterator[dict[str, Any]]:
    lines = (line for line in data.splitlines() if line.strip())
    for row, line in enumerate(lines):
        try:
            record = json.loads(line)
            if _opened(line) > _DEEPEST:
                _check_depth(record)
        except (RecursionError, ValueError) as error:
            raise CorruptFileError(
                f"{part.url}: each line must be a whole JSON object, row "
                f"{first_row + row} is not: {error}"
            ) from error
        if not isinstance(record, dict):
            raise CorruptFileError(
                f"{part.url}: each line must be a JSON object, row {first_row + row} "
                f"is {line[:40]!r}."
            )
        yield record


def _opened(line: bytes) -> int:
    return line.count(b"[") + line.count(b"{")


def _check_depth(record: Any) -> None:
    """Refuse lists nested deeper than recursion can follow."""
    level = [record]
    for _ in range(_DEEPEST):
        level = [
            item
            for part in level
            for item in (part.values() if isinstance(part, dict) else part)
            if isinstance(item, list | dict)
        ]
        if not level:
            return
    raise ValueError(f"it is nested deeper than {_DEEPEST} levels")


def _read_fast(data: bytes, schema: Any) -> Any:
    """Return the table, None if not every line is an object as the columns have it.

    Numbers that are not finite are text in JSON; they and damaged lines are left.
    """
    try:
        table = pajson.read_json(
            io.BytesIO(data),
            # One block: a row that spans two of them is refused.
            pajson.ReadOptions(block_size=max(len(data), 1 << 20)),
            pajson.ParseOptions(
                explicit_schema=schema, unexpected_field_behavior="ignore"
            ),
        )
    except pa.ArrowInvalid:
        return None
    # pyarrow does not mind where lines end.
    return table if table.num_rows == _n_lines(data) else None


def _n_lines(data: bytes) -> int:
    """Return the number of lines that are not blank."""
    # Of most files this tells what looking at each line would, in no time.
    if not data[:1].strip() or any(found in data for found in _BEFORE_BLANK_LINES):
        return sum(1 for line in data.splitlines() if line.strip())
    return data.count(b"\n") + (not data.endswith(b"\n"))


def _read_slowly(data: bytes, schema: Any, part: Part, first_row: RowNumber) -> Any:
    records = list(_records(data, part, first_row))
    columns = {}
    for field in schema:
        values = [_plain(record.get(field.name), field.type) for record in records]
        try:
            columns[field.name] = _array(values, field.type)
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            row = _first_misfit(values, field.type)
            raise ColumnError(
                f"{part.url}: column {field.name!r} must hold {field.type} in every "
                f"row, got {_short(values[row])} in row {first_row + row}."
            ) from error
    return pa.table(columns, schema=schema)


def _plain(value: Any, arrow_type: Any) -> Any:
    """Return a value with numbers where its type has some that are not finite."""
    if isinstance(value, str) and value in _NOT_FINITE:
        return float(value) if pa.types.is_floating(arrow_type) else value
    if isinstance(value, list) and pa.types.is_list(arrow_type):
        return [_plain(element, arrow_type.value_type) for element in value]
    if isinstance(value, dict) and pa.types.is_struct(arrow_type):
        types = {field.name: field.type for field in arrow_type}
        return {n: _plain(v, types[n]) for n, v in value.items() if n in types}
    return value


def _array(values: list[Any], arrow_type: Any) -> Any:
    """Return the values as an array, or refuse values of another type."""
    try:
        array = pa.array(values, arrow_type)
    except _NO_VALUE as error:
        raise pa.ArrowInvalid(str(error)) from error
    # pyarrow cuts off fractions without a word.
    if pa.types.is_integer(arrow_type) and array.to_pylist() != values:
        raise pa.ArrowInvalid("a number is not whole")
    return array


def _first_misfit(values: list[Any], arrow_type: Any) -> int:
    return next((row for row, v in enumerate(values) if not _fits(v, arrow_type)), 0)


def _fits(value: Any, arrow_type: Any) -> bool:
    try:
        _array([value], arrow_type)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return False
    return True


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
