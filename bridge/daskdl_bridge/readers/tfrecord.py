"""TFRecord files of ``tf.train.Example``, whose features are the columns.

A record is its length, the checksum of that, its bytes and their checksum. A file has
no marks to begin at in its midst, so that it is one partition, read by blocks.
"""

import itertools
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa

from daskdl.data.blocks import BLOCK_BYTES
from daskdl.data.sources.source import SourceOptions
from daskdl.dl4j.java.counted_stream import CountedStream
from daskdl.errors import ColumnError, CorruptFileError
from daskdl_bridge.listing import Part
from daskdl_bridge.readers.arrays import is_list
from daskdl_bridge.readers.columns import check_types, resolve_columns
from daskdl_bridge.readers.crc32c import masked_crc32c
from daskdl_bridge.readers.file_summary import FileSummary, type_in_words, unknown_rows
from daskdl_bridge.readers.keys import with_key_type
from daskdl_bridge.readers.lines import open_plain
from daskdl_bridge.readers.table_partitions import file_partitions
from daskdl_bridge.readers.table_reader import TablePartition, TableReader
from daskdl_bridge.readers.tf_example import Feature, decode_example

__all__ = ["TfrecordReader", "open_parts", "summarize_parts"]

_FORM = "TFRecord"

# Examples are far smaller.
_MOST_BYTES = 128 << 20
# What Python's objects of a record take beside its bytes.
_RECORD_BYTES = 500

# Records that are looked at to learn the columns and their types, and files: Spark
# writes one for each partition, also where that is empty.
_SAMPLED_RECORDS = 100
_FILES_LOOKED_AT = 100

_Record: TypeAlias = tuple[int, bytes]
"""Offset of a record among the plain bytes, and its bytes."""


@dataclass(frozen=True)
class TfrecordReader(TableReader):
    """Reads columns of TFRecord files.

    Parameters
    ----------
    types : tuple of (str, pyarrow.DataType)
        Of the columns, as the first records have them.
    """

    types: tuple[tuple[str, Any], ...]

    def read_blocks(
        self, part: Part, columns: list[str], options: SourceOptions
    ) -> Generator[Any, None, None]:
        """Yield tables of the records of a file, each of the bytes of a block."""
        held: list[_Record] = []
        nbytes, is_empty = 0, True
        for record in _records(part, options):
            held.append(record)
            nbytes += len(record[1]) + _RECORD_BYTES
            if nbytes >= BLOCK_BYTES:
                yield self._table(held, columns, part)
                held, nbytes, is_empty = [], 0, False
        if held or is_empty:
            yield self._table(held, columns, part)

    def _table(self, records: list[_Record], columns: list[str], part: Part) -> Any:
        names = frozenset(columns)
        examples = [_example(record, part, names) for record in records]
        types = dict(self.types)
        arrays = {
            name: pa.array(
                [
                    _value(example.get(name), types[name], name, record[0], part)
                    for example, record in zip(examples, records, strict=True)
                ],
                types[name],
            )
            for name in columns
        }
        # Where all columns are in the path, one without a name has as many rows.
        return pa.table(arrays or {"": pa.nulls(len(records))})


def open_parts(parts: Sequence[Part], options: SourceOptions) -> list[TablePartition]:
    """Make a partition of each TFRecord file; the first records tell the columns.

    Parameters
    ----------
    parts : sequence of Part
        Plain or compressed as a whole, by gzip for instance.
    options : SourceOptions
        Columns and what to make of them. A feature is a number, or bytes, where all of
        the first records have one value and it is no time series, else a list.

    Raises
    ------
    ColumnError
        If a column does not exist or cannot become numbers.
    CorruptFileError
        If one of the first records is damaged or no ``tf.train.Example``.
    """
    types = _types(parts, options)
    columns = resolve_columns(options, types, parts[0])
    for name in columns.series(options):
        if name in types and not is_list(types[name]):
            types[name] = pa.list_(types[name])
    classes = columns.class_column(options)
    if classes is not None and types.get(classes) == pa.binary():
        types[classes] = pa.string()
    check_types(columns, types, parts[0].url, options)
    columns = with_key_type(columns, parts, [types])
    reader = TfrecordReader(tuple((n, types[n]) for n in columns.all() if n in types))
    return file_partitions(parts, reader, columns, options)


def summarize_parts(parts: Sequence[Part], options: SourceOptions) -> FileSummary:
    """Tell the columns of TFRecord files by the first records."""
    types = {n: type_in_words(kind) for n, kind in _types(parts, options).items()}
    return FileSummary(types=types, rows=unknown_rows(parts))


def _types(parts: Sequence[Part], options: SourceOptions) -> dict[str, Any]:
    """Return the columns of the first records that there are, in order of names."""
    for part in parts[:_FILES_LOOKED_AT]:
        types: dict[str, Any] = {}
        for record in itertools.islice(_records(part, options), _SAMPLED_RECORDS):
            for name, values in _example(record, part).items():
                types[name] = _wider(types.get(name), values, name, record[0], part)
        if types:
            return dict(sorted(types.items()))
    return {}


def _wider(settled: Any, values: Feature, name: str, offset: int, part: Part) -> Any:
    each = _type_of_one(values)
    if settled is None:
        return each if len(values) == 1 else pa.list_(each)
    is_list = pa.types.is_list(settled)
    if (settled.value_type if is_list else settled) != each:
        raise _other_type(settled, each, name, offset, part)
    return settled if is_list or len(values) == 1 else pa.list_(each)


def _type_of_one(values: Feature) -> Any:
    if isinstance(values, list):
        return pa.binary()
    return pa.from_numpy_dtype(values.dtype)


def _value(
    values: Feature | None, arrow_type: Any, name: str, offset: int, part: Part
) -> Any:
    """Return the value that a record has in a column, None where it has no feature."""
    if values is None:
        return None
    each, is_list = _type_of_one(values), pa.types.is_list(arrow_type)
    if arrow_type == pa.string() and each == pa.binary() and len(values) == 1:
        # What is no text names no class.
        return values[0].decode(errors="replace")
    if each != (arrow_type.value_type if is_list else arrow_type):
        raise _other_type(arrow_type, each, name, offset, part)
    if is_list:
        return values
    if len(values) > 1:
        raise _other_type(arrow_type, f"{len(values)} values", name, offset, part)
    return values[0]


def _other_type(
    settled: Any, found: Any, name: str, offset: int, part: Part
) -> ColumnError:
    return ColumnError(
        f"{part.url}: column {name!r} must hold {settled} as in the first records, the "
        f"record at offset {offset} has {found}."
    )


def _example(
    record: _Record, part: Part, names: frozenset[str] | None = None
) -> dict[str, Feature]:
    try:
        return decode_example(record[1], names)
    except ValueError as error:
        raise CorruptFileError(
            f"{part.url}: the record at offset {record[0]} must be a tf.train.Example, "
            f"it is none: {error}. Have examples written."
        ) from error


def _records(part: Part, options: SourceOptions) -> Iterator[_Record]:
    with open_plain(part, _FORM, options.storage_options) as stream:
        counted = CountedStream(stream, part.url)
        while not counted.is_at_end():
            start = counted.offset
            head = counted.take(8)
            _check_sum(counted, head, "length", start)
            length = int.from_bytes(head, "little")
            if length > _MOST_BYTES:
                must = f"a record must have 0 to {_MOST_BYTES} bytes"
                raise counted.corrupt(must, str(length), start)
            data = counted.take(length)
            _check_sum(counted, data, "bytes", start)
            yield start, data


def _check_sum(counted: CountedStream, data: bytes, what: str, start: int) -> None:
    stored = counted.take_number("<I")
    found = masked_crc32c(data)
    if stored != found:
        must = f"the checksum of a record's {what} must be {found:08x}"
        raise counted.corrupt(must, f"{stored:08x}", start)
