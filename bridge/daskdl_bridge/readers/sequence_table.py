"""SequenceFiles as tables of the columns ``key`` and ``value``.

Where values are DataVec's records, ``value`` is none, and there is a column for each of
theirs: ``_c0``, ``_c1`` and so on. Where they are pickles of PySpark, the objects in
those are the rows.
"""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

import pyarrow as pa

from daskdl.data.blocks import BLOCK_BYTES
from daskdl.data.sources.row_options import TABLE_OPTIONS
from daskdl.data.sources.source import SourceOptions
from daskdl.data.sources.unused_options import refuse_unused
from daskdl.errors import ColumnError, CorruptFileError, DataError
from daskdl_bridge.listing import Part
from daskdl_bridge.readers.columns import check_types, resolve_columns
from daskdl_bridge.readers.datavec_records import (
    RECORD_WRITABLE,
    decode_record,
    record_types,
)
from daskdl_bridge.readers.error_location import naming_damaged_file
from daskdl_bridge.readers.file_summary import FileSummary, type_in_words
from daskdl_bridge.readers.java_arrays import JAVA_OBJECTS
from daskdl_bridge.readers.keys import with_key_type
from daskdl_bridge.readers.pickle_rows import (
    array_of_pickled,
    columns_of_pickles,
    pickle_types,
)
from daskdl_bridge.readers.sequence_file import Record, SequenceFile
from daskdl_bridge.readers.table_partitions import span_partitions
from daskdl_bridge.readers.table_reader import TablePartition, TableReader
from daskdl_bridge.readers.writables import (
    ARRAY_WRITABLE,
    BYTES_WRITABLE,
    NULL_WRITABLE,
    Writable,
    array_of_class,
    writable_of,
)
from daskdl_bridge.storage import open_input

__all__ = ["SequenceReader", "open_parts", "summarize_parts"]

_FORM = "SequenceFile"
_KEY, _VALUE = "key", "value"

# What Python's objects of a record take beside its bytes.
_RECORD_BYTES = 100

# What Spark's pickle and object files are of; bytes have their number in front.
_OBJECT_CLASSES = (NULL_WRITABLE, BYTES_WRITABLE)
_LENGTH_BYTES = 4

# Records that are looked at to learn the types of columns, as far as their first ones
# are null, and files: Spark writes one for each partition, also where that is empty.
_SAMPLED_RECORDS = 100
_FILES_LOOKED_AT = 100


@dataclass(frozen=True)
class SequenceReader(TableReader):
    """Reads columns of SequenceFiles.

    Parameters
    ----------
    key_class, value_class : str
        Of all files.
    types : tuple of (str, pyarrow.DataType)
        Of the columns that can be read.
    holds_pickles : bool
        Whether values hold pickles of rows.
    allow : tuple of str
        What those may name.
    element_class : str, optional
        Of plain arrays.
    """

    key_class: str
    value_class: str
    types: tuple[tuple[str, Any], ...]
    holds_pickles: bool = False
    allow: tuple[str, ...] = ()
    element_class: str | None = None

    def read_blocks(
        self, part: Part, columns: list[str], options: SourceOptions
    ) -> Generator[Any, None, None]:
        """Yield tables of the records of a part, each of the bytes of a block."""
        with (
            naming_damaged_file(part.url, _FORM),
            open_input(part.url, options.storage_options) as stream,
        ):
            file = SequenceFile(stream, part.url)
            self._check_classes(file, part)
            is_empty = True
            for records in _gathered(file.records(part.span)):
                is_empty = False
                yield self._table(records, columns, part)
            if is_empty:
                yield self._table([], columns, part)

    def _check_classes(self, file: SequenceFile, part: Part) -> None:
        found = (file.header.key_class, file.header.value_class)
        if found != (self.key_class, self.value_class):
            raise DataError(
                f"{part.url}: keys and values must be {self.key_class} and "
                f"{self.value_class} as in the first file, got {found[0]} and "
                f"{found[1]}. Name the files of one job."
            )

    def _table(self, records: list[Record], columns: list[str], part: Part) -> Any:
        types = dict(self.types)
        if self.holds_pickles:
            # One more than is asked for: it tells how many rows there are.
            wanted = columns or [*types][:1]
            found = _columns_of_pickles(records, types, wanted, part, self.allow)
            n_rows = len(next(iter(found.values())))
        else:
            found, n_rows = self._columns(records, columns, part), len(records)
        made = {n: _array(found[n], types[n], n, records, part) for n in columns}
        # Where all columns are in the path, one without a name has as many rows.
        return pa.table(made or {"": pa.nulls(n_rows)})

    def _columns(
        self, records: list[Record], columns: list[str], part: Part
    ) -> dict[str, list[Any]]:
        found = {}
        if _KEY in columns:
            found[_KEY] = self._decoded(records, 1, _KEY, part)
        if _VALUE in columns:
            found[_VALUE] = self._decoded(records, 2, _VALUE, part)
        if self.value_class == RECORD_WRITABLE:
            n_columns = len(self.types) - (_KEY in dict(self.types))
            found |= _columns_of_records(records, n_columns, part)
        return found

    def _decoded(
        self, records: list[Record], index: Literal[1, 2], name: str, part: Part
    ) -> list[Any]:
        class_name = _class_of(self, name)
        writable = _writable(class_name, self.element_class)
        if writable is None:
            raise _unknown_class(self, name, part)
        stored = (record[index] for record in records)
        values: list[Any] = []
        try:
            values.extend(map(writable.decode, stored))
        except ValueError as error:
            place = _place(part, records[len(values)])
            raise CorruptFileError(
                f"{place}: {name} must be a whole {class_name}, it is damaged or of "
                f"another class: {error}."
            ) from error
        return values


def open_parts(parts: Sequence[Part], options: SourceOptions) -> list[TablePartition]:
    """Make partitions of SequenceFiles; the first records tell the columns.

    Parameters
    ----------
    parts : sequence of Part
        A file above 32 MiB makes several partitions. Of a MapFile, its index is no
        part.
    options : SourceOptions
        The columns are ``key`` and ``value``, or those of DataVec's records or of
        the objects in pickles.

    Raises
    ------
    ColumnError
        If a column does not exist or cannot become numbers.
    DataError
        If a column's class is none that can be read, or values are objects of Java, or
        pickles of others than examples.
    CorruptFileError
        If the first file is damaged, as far as its first records.
    """
    parts = _without_indices(parts)
    reader = _reader(parts, options)
    types = dict(reader.types)
    names = [*types, *(n for n in (_KEY, _VALUE) if _is_unknown(reader, n))]
    columns = resolve_columns(options, names, parts[0])
    for name in columns.all():
        if name not in types and name not in parts[0].types:
            raise _unknown_class(reader, name, parts[0])
    check_types(columns, types, parts[0].url, options)
    columns = with_key_type(columns, parts, [types])
    return span_partitions(parts, reader, columns, options)


def summarize_parts(parts: Sequence[Part], options: SourceOptions) -> FileSummary:
    """Tell the columns of SequenceFiles by the first records."""
    reader = _reader(_without_indices(parts), options)
    types = {name: type_in_words(kind) for name, kind in reader.types}
    for name in (_KEY, _VALUE):
        if _is_unknown(reader, name):
            types[name] = _class_of(reader, name)
    return FileSummary(types=types, rows=[None] * len(parts))


def _without_indices(parts: Sequence[Part]) -> list[Part]:
    """Leave out the index of each MapFile, a directory of ``data`` and ``index``."""
    urls = {part.url for part in parts}
    return [
        part
        for part in parts
        if part.name != "index" or f"{part.url[: -len('index')]}data" not in urls
    ]


def _reader(parts: Sequence[Part], options: SourceOptions) -> SequenceReader:
    """Make the reader of all files from the first records that there are."""
    for part in parts[:_FILES_LOOKED_AT]:
        with (
            naming_damaged_file(part.url, _FORM),
            open_input(part.url, options.storage_options) as stream,
        ):
            file = SequenceFile(stream, part.url)
            sampled = next(_gathered(islice(file.records(), _SAMPLED_RECORDS)), [])
        header = file.header
        classes = (header.key_class, header.value_class)
        # Those of other classes tell their columns without a record.
        tells = header.value_class != RECORD_WRITABLE and classes != _OBJECT_CLASSES
        if sampled or tells:
            break
    # Where all files are empty, nobody knows whether they would hold pickles.
    heeded: tuple[str, ...] = TABLE_OPTIONS
    heeded += ("allow",) if classes == _OBJECT_CLASSES else ()
    heeded += ("element_class",) if ARRAY_WRITABLE in classes else ()
    if sampled and _is_of_objects(classes, sampled[0][2]):
        refuse_unused(part.url, "pickle files", options, heeded)
        values = [(_objects_of(one, part), _place(part, one)) for one in sampled]
        types = pickle_types(values, options.allow)
        return SequenceReader(
            *classes, tuple(types.items()), holds_pickles=True, allow=options.allow
        )
    refuse_unused(part.url, f"pairs of {' and '.join(classes)}", options, heeded)
    types = _types(classes, sampled, part, options.element_class)
    return SequenceReader(
        *classes, tuple(types.items()), element_class=options.element_class
    )


def _is_of_objects(classes: tuple[str, str], value: bytes) -> bool:
    return classes == _OBJECT_CLASSES and value[_LENGTH_BYTES:].startswith(JAVA_OBJECTS)


def _objects_of(record: Record, part: Part) -> bytes:
    """Return the bytes of Java's objects that a record holds."""
    value = record[2]
    length = int.from_bytes(value[:_LENGTH_BYTES], "big")
    if length != len(value) - _LENGTH_BYTES:
        raise CorruptFileError(
            f"{_place(part, record)}: value must have the {length} bytes that it says, "
            f"got {len(value) - _LENGTH_BYTES}. The file is damaged."
        )
    return value[_LENGTH_BYTES:]


def _types(
    classes: tuple[str, str],
    sampled: list[Record],
    part: Part,
    element_class: str | None,
) -> dict[str, Any]:
    """Return the columns that can be read, and their types."""
    types = {}
    for name, class_name in zip((_KEY, _VALUE), classes, strict=True):
        writable = _writable(class_name, element_class)
        if writable is not None:
            types[name] = writable.arrow_type
    if classes[1] == RECORD_WRITABLE:
        types |= record_types(
            decode_record(one[2], _place(part, one)) for one in sampled
        )
    return types


def _is_unknown(reader: SequenceReader, name: str) -> bool:
    class_name = _class_of(reader, name)
    is_known = _writable(class_name, reader.element_class) is not None
    return class_name != RECORD_WRITABLE and not is_known


def _writable(class_name: str, element_class: str | None) -> Writable | None:
    if class_name == ARRAY_WRITABLE and element_class is not None:
        return array_of_class(element_class)
    return writable_of(class_name)


def _class_of(reader: SequenceReader, name: str) -> str:
    return reader.key_class if name == _KEY else reader.value_class


def _unknown_class(reader: SequenceReader, name: str, part: Part) -> DataError:
    found = _class_of(reader, name)
    todo = "Have the job write one of those, or Parquet."
    if found == ARRAY_WRITABLE:
        todo = "Say what is in it, such as element_class='DoubleWritable'."
    return DataError(
        f"{part.url}: column {name!r} must be of a class that can be read, a Writable "
        "of Hadoop for a number, text or bytes, or an array named after its elements "
        f"(DoubleArrayWritable), got {found}. {todo}"
    )


def _gathered(records: Iterator[Record]) -> Iterator[list[Record]]:
    """Yield as many records at a time as take up the bytes of a block."""
    held: list[Record] = []
    nbytes = 0
    for record in records:
        held.append(record)
        nbytes += len(record[1]) + len(record[2]) + _RECORD_BYTES
        if nbytes >= BLOCK_BYTES:
            yield held
            held, nbytes = [], 0
    if held:
        yield held


def _columns_of_records(
    records: list[Record], n_columns: int, part: Part
) -> dict[str, list[Any]]:
    rows = [decode_record(record[2], _place(part, record)) for record in records]
    for record, row in zip(records, rows, strict=True):
        if len(row) != n_columns:
            raise DataError(
                f"{_place(part, record)}: must hold {n_columns} values as the first "
                f"record does, got {len(row)}."
            )
    return {f"_c{index}": [row[index] for row in rows] for index in range(n_columns)}


def _columns_of_pickles(
    records: list[Record],
    types: dict[str, Any],
    columns: list[str],
    part: Part,
    allow: tuple[str, ...],
) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {name: [] for name in columns}
    for record in records:
        place = _place(part, record)
        value = _objects_of(record, part)
        rows = columns_of_pickles(value, types, columns, place, allow)
        for name, values in rows.items():
            found[name] += values
    return found


def _array(
    values: list[Any], arrow_type: Any, name: str, records: list[Record], part: Part
) -> Any:
    try:
        # pyarrow cuts off fractions without a word.
        if pa.types.is_integer(arrow_type) and float in set(map(type, values)):
            raise pa.ArrowInvalid("a number is not whole")
        return array_of_pickled(values, arrow_type)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
        raise ColumnError(
            f"{part.url}: column {name!r} must hold {arrow_type} as in the first "
            f"record, one from offset {records[0][0]} on does not: {error}"
        ) from error


def _place(part: Part, record: Record) -> str:
    return f"{part.url}: the record at offset {record[0]}"
