"""Avro files, by Spark or anybody else: the fields of their records are the columns."""

import io
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa

from daskdl.data.blocks import BLOCK_BYTES
from daskdl.data.sources.source import SourceOptions
from daskdl.errors import ColumnError, CorruptFileError, MissingExtraError
from daskdl_bridge.listing import Part
from daskdl_bridge.readers.avro_file import AvroBlock, AvroFile
from daskdl_bridge.readers.avro_schema import AvroSchema
from daskdl_bridge.readers.calendars import avro_calendars, gregorian_table
from daskdl_bridge.readers.columns import (
    ExampleColumns,
    check_exist,
    check_fields,
    check_types,
    resolve_columns,
)
from daskdl_bridge.readers.error_location import naming_damaged_file
from daskdl_bridge.readers.file_summary import FileSummary, type_in_words
from daskdl_bridge.readers.intervals import refuse_months
from daskdl_bridge.readers.keys import with_key_type
from daskdl_bridge.readers.nested import type_of
from daskdl_bridge.readers.table_partitions import span_partitions
from daskdl_bridge.readers.table_reader import TablePartition, TableReader
from daskdl_bridge.storage import open_input

__all__ = ["AvroReader", "open_parts", "summarize_parts"]

_FORM = "Avro"

# Records are objects of Python while they are decoded, of many times their bytes.
_DECODED_BYTES = 1 << 20

_UNREADABLE = "a type that is not read"


@dataclass(frozen=True)
class AvroReader(TableReader):
    """Reads columns of Avro files.

    Parameters
    ----------
    types : tuple of (str, pyarrow.DataType)
        Of the columns, as the first file has them.
    columns : ExampleColumns
        What is made of them.
    """

    types: tuple[tuple[str, Any], ...]
    columns: ExampleColumns

    def read_blocks(
        self, part: Part, columns: list[str], options: SourceOptions
    ) -> Generator[Any, None, None]:
        """Yield tables of the records of a part, each of the bytes of a block."""
        types = dict(self.types)
        schema = pa.schema([(name, types[name]) for name in columns])
        with (
            naming_damaged_file(part.url, _FORM),
            open_input(part.url, options.storage_options) as stream,
        ):
            file = AvroFile(stream, part.url)
            check_exist(columns, list(file.schema.types), part.url)
            check_fields(self.columns, _known(file.schema.reachable), part.url)
            calendars = avro_calendars(file.metadata, types)
            held: list[Any] = []
            is_empty = True
            for block in file.blocks(part.span):
                for records in _decoded(block, file.schema.plain, part):
                    table = _table(records, schema, block, part)
                    held.append(gregorian_table(table, calendars, part.url))
                    if sum(one.nbytes for one in held) >= BLOCK_BYTES:
                        yield pa.concat_tables(held)
                        held, is_empty = [], False
            if held or is_empty:
                yield pa.concat_tables(held) if held else schema.empty_table()


def open_parts(parts: Sequence[Part], options: SourceOptions) -> list[TablePartition]:
    """Make partitions of Avro files; the header of the first tells the columns.

    Parameters
    ----------
    parts : sequence of Part
        A file above 32 MiB makes several partitions.
    options : SourceOptions
        Columns and what to make of them.

    Raises
    ------
    ColumnError
        If a column does not exist or cannot become numbers.
    CorruptFileError
        If the header of the first file is damaged.
    MissingExtraError
        If fastavro is not installed.
    """
    _fastavro()
    schema = _schema(parts[0], options)
    columns = resolve_columns(options, schema.types, parts[0], has_structs=True)
    for name in columns.all():
        # Of what is named as a whole, nothing may be left out.
        found = schema.reachable if name in columns.nested else schema.types
        if type_of(name, {**found, **parts[0].types}) is None:
            raise ColumnError(
                f"{parts[0].url}: column {name!r} must be there, and not be a map, nor "
                "a union of several types, nor hold one. Have it written as another "
                "type."
            )
    types = _known(schema.reachable)
    check_types(columns, types, parts[0].url, options)
    refuse_months(columns, types, parts[0].url)
    columns = with_key_type(columns, parts, [types])
    stored = tuple((name, types[name]) for name in columns.stored() if name in types)
    reader = AvroReader(stored, columns)
    return span_partitions(parts, reader, columns, options)


def summarize_parts(parts: Sequence[Part], options: SourceOptions) -> FileSummary:
    """Tell the columns of Avro files by the header of the first."""
    types = {
        name: _UNREADABLE if kind is None else type_in_words(kind)
        for name, kind in _schema(parts[0], options).types.items()
    }
    return FileSummary(types=types, rows=[None] * len(parts))


def _schema(part: Part, options: SourceOptions) -> AvroSchema:
    with (
        naming_damaged_file(part.url, _FORM),
        open_input(part.url, options.storage_options) as stream,
    ):
        return AvroFile(stream, part.url).schema


def _known(types: dict[str, Any]) -> dict[str, Any]:
    return {name: kind for name, kind in types.items() if kind is not None}


def _fastavro() -> Any:
    try:
        import fastavro
    except ImportError as error:
        raise MissingExtraError(
            "Avro files: the package fastavro must be installed. Run: pip install "
            "'daskdl[avro]'"
        ) from error
    return fastavro


def _decoded(
    block: AvroBlock, plain: Any, part: Part
) -> Iterator[list[dict[str, Any]]]:
    """Yield the records of a block, some at a time."""
    fastavro = _fastavro()
    stream, held, start = io.BytesIO(block.data), [], 0
    try:
        schema = fastavro.parse_schema(plain)
        for _ in range(block.n_records):
            held.append(fastavro.schemaless_reader(stream, schema, None))
            at = stream.tell()
            if not at:
                # As many as there are bytes would be held before those are left.
                raise ValueError("a record takes no byte")
            if at - start >= _DECODED_BYTES:
                yield held
                held, start = [], at
    except (
        ArithmeticError,
        EOFError,
        LookupError,
        TypeError,
        ValueError,
        fastavro.schema.SchemaParseException,
        fastavro.schema.UnknownType,
    ) as error:
        raise _damaged(block, part, str(error) or type(error).__name__) from error
    left = len(block.data) - stream.tell()
    if left:
        raise _damaged(block, part, f"{left} bytes are left behind the last")
    yield held


def _damaged(block: AvroBlock, part: Part, reason: str) -> CorruptFileError:
    return CorruptFileError(
        f"{part.url}: the block at offset {block.offset} must hold {block.n_records} "
        f"records of the file's schema, it does not: {' '.join(reason.split())}."
    )


def _table(
    records: list[dict[str, Any]], schema: Any, block: AvroBlock, part: Part
) -> Any:
    arrays = []
    for column in schema:
        values = [record[column.name] for record in records]
        try:
            if _holds_decimals(column.type):
                values = [_with_decimals(value, column.type) for value in values]
            arrays.append(pa.array(values, column.type))
        except (
            pa.ArrowException,
            LookupError,
            OverflowError,
            TypeError,
            ValueError,
        ) as error:
            raise ColumnError(
                f"{part.url}: column {column.name!r} must hold {column.type} as in the "
                f"first file, the block at offset {block.offset} does not: {error}"
            ) from error
    # Where all columns are in the path, one without a name has as many rows.
    return pa.table(arrays or [pa.nulls(len(records))], names=schema.names or [""])


def _holds_decimals(arrow_type: Any) -> bool:
    if pa.types.is_decimal(arrow_type):
        return True
    children = (arrow_type.field(i).type for i in range(arrow_type.num_fields))
    return any(map(_holds_decimals, children))


def _with_decimals(value: Any, arrow_type: Any) -> Any:
    """Return a value with decimals in place of their unscaled digits as bytes."""
    if value is None:
        return None
    if pa.types.is_decimal(arrow_type):
        unscaled = int.from_bytes(value, "big", signed=True)
        # By its digits: arithmetic would round to the precision of the context.
        digits = tuple(map(int, str(abs(unscaled))))
        return Decimal((int(unscaled < 0), digits, -arrow_type.scale))
    if pa.types.is_list(arrow_type):
        return [_with_decimals(one, arrow_type.value_type) for one in value]
    if pa.types.is_struct(arrow_type):
        fields = {one.name: one.type for one in arrow_type}
        return {n: _with_decimals(value[n], kind) for n, kind in fields.items()}
    return value
