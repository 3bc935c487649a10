"""Partitions of a snapshot of a table: its data files, or row groups of large ones."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa

from daskdl.data.fingerprint import Fingerprint
from daskdl.data.sources.source import SourceOptions
from daskdl.data.sources.summary import DataSummary
from daskdl.errors import ColumnError, DataError, SourceNotFoundError
from daskdl_bridge.listing import Part
from daskdl_bridge.readers.class_names import class_names_of_schema
from daskdl_bridge.readers.columns import (
    ExampleColumns,
    check_types,
    refuse_missing,
    resolve_columns,
)
from daskdl_bridge.readers.file_summary import type_in_words
from daskdl_bridge.readers.footers import Footer, read_footers
from daskdl_bridge.readers.keys import with_key_type
from daskdl_bridge.readers.parquet import (
    ParquetReader,
    read_footer,
    row_group_spans,
)
from daskdl_bridge.readers.table_reader import TablePartition
from daskdl_bridge.tables.data_file_reader import DataFileReader
from daskdl_bridge.tables.deleted_rows import DeletedRows
from daskdl_bridge.tables.snapshot import DataFile, Snapshot

__all__ = ["partitions_of", "summary_of"]


def partitions_of(snapshot: Snapshot, options: SourceOptions) -> list[TablePartition]:
    """Make partitions of the data files; only their footers are read.

    Parameters
    ----------
    snapshot : Snapshot
    options : SourceOptions
        Columns and what to make of them.

    Returns
    -------
    list of TablePartition
        With the number of rows that count of each.

    Raises
    ------
    DataError
        If the snapshot has no data file, or a file less rows than were deleted of it.
    ColumnError
        If a column does not exist or cannot be used, or a file lacks one that must
        hold a value.
    SourceNotFoundError
        If a data file is gone; of a Delta table with the versions that can be read.
    CorruptFileError
        If a file is cut short or damaged, as far as its footer tells.
    """
    if not snapshot.files:
        raise DataError(
            f"{snapshot.url}: must hold at least one example, this snapshot of the "
            "table has no data file."
        )
    table = Part(url=snapshot.url)
    columns = resolve_columns(options, snapshot.types, table, has_structs=True)
    check_types(columns, snapshot.types, snapshot.url, options)
    columns = with_key_type(columns, [table], [snapshot.types])
    footers, parts = _footers(snapshot, options)
    names = class_names_of_schema(snapshot.spark_schema, options)
    return [
        replace(partition, class_names=names)
        for file, part, footer in zip(snapshot.files, parts, footers, strict=True)
        for partition in _of_file(snapshot, file, part, footer, columns, options)
    ]


def summary_of(snapshot: Snapshot, options: SourceOptions) -> DataSummary:
    """Tell columns and rows of a snapshot; the footers of its files are read."""
    footers, _ = _footers(snapshot, options)
    held = [
        (file.url, footer.rows - (file.deleted.count if file.deleted else 0))
        for file, footer in zip(snapshot.files, footers, strict=True)
    ]
    return DataSummary(
        name=snapshot.url,
        columns={n: type_in_words(kind) for n, kind in snapshot.types.items()},
        partition_columns=snapshot.partition_columns,
        parts=tuple(held),
    )


def _footers(
    snapshot: Snapshot, options: SourceOptions
) -> tuple[list[Footer], list[Part]]:
    try:
        return read_footers(_parts(snapshot), options, "Parquet", read_footer)
    except SourceNotFoundError as error:
        if snapshot.without_files is None:
            raise
        raise SourceNotFoundError(snapshot.without_files()) from error


def _parts(snapshot: Snapshot) -> list[Part]:
    # Their names are never used again, so that the size is enough to know them by.
    return [
        Part(url=file.url, size=file.size, fingerprint=Fingerprint(size=file.size))
        for file in snapshot.files
    ]


def _of_file(
    snapshot: Snapshot,
    file: DataFile,
    part: Part,
    footer: Footer,
    columns: ExampleColumns,
    options: SourceOptions,
) -> list[TablePartition]:
    stored = file.find_columns(footer.metadata.schema.to_arrow_schema())
    here = _types_here(footer, stored)
    check_types(columns, here, part.url, options)
    _check_nested(columns, here, snapshot.types, part.url)
    known = {name: file.values[name] for name in file.values if name not in stored}
    named = columns.stored()
    absent = [one for one in named if one not in stored and one not in known]
    if footer.rows and options.handle_invalid == "error":
        refuse_missing(columns, absent, part.url)
    values = {**known, **dict.fromkeys(absent)}
    part = replace(
        part, values=values, types={name: snapshot.types[name] for name in values}
    )
    return list(_pieces(snapshot, file, part, footer, stored, columns, options))


def _pieces(
    snapshot: Snapshot,
    file: DataFile,
    part: Part,
    footer: Footer,
    stored: Mapping[str, str],
    columns: ExampleColumns,
    options: SourceOptions,
) -> list[TablePartition]:
    of_file = _deleted(file, footer)
    first_counting, partitions = 0, []
    for start, stop, first_row, rows in row_group_spans(footer.metadata):
        is_whole = (start, stop) == (0, footer.metadata.num_row_groups)
        deleted = of_file
        if deleted is not None and not is_whole:
            deleted = deleted.between(first_row, first_row + rows)
        counting = rows - (0 if deleted is None else deleted.count)
        read = [name for name in columns.stored() if name not in part.values]
        partitions.append(
            TablePartition(
                name=part.url if is_whole else f"{part.url} [{start}:{stop}]",
                rows=counting,
                part=part,
                reader=DataFileReader(
                    file_reader=ParquetReader(None if is_whole else (start, stop)),
                    stored={name: stored[name] for name in read},
                    types={name: snapshot.types[name] for name in read},
                    deleted=deleted,
                ),
                columns=columns,
                options=options,
                first_row=first_counting,
            )
        )
        first_counting += counting
    return partitions


def _types_here(footer: Footer, stored: Mapping[str, str]) -> dict[str, Any]:
    return {name: footer.types[there] for name, there in stored.items()}


def _check_nested(
    columns: ExampleColumns,
    here: Mapping[str, Any],
    types: Mapping[str, Any],
    url: str,
) -> None:
    """Refuse a key of lists or structs that are others in a file."""
    for key in map(columns.holding, (*columns.keys, *columns.kept)):
        if key not in here or not pa.types.is_nested(types[key]):
            continue
        if _without_flags(here[key]) != _without_flags(types[key]):
            raise ColumnError(
                f"{url}: column {key!r} must hold {types[key]} as the table has it to "
                f"be the key, got {here[key]}. Take a key of plain values."
            )


def _without_flags(kind: Any) -> Any:
    """Return a type without names of elements, and where null is allowed everywhere."""
    if pa.types.is_list(kind):
        return pa.list_(_without_flags(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([(one.name, _without_flags(one.type)) for one in kind])
    return kind


def _deleted(file: DataFile, footer: Footer) -> DeletedRows | None:
    if file.deleted is None:
        return None
    if file.deleted.rows > footer.rows:
        raise DataError(
            f"{file.url}: must hold the {file.deleted.rows} rows of which the table "
            f"deleted some, got {footer.rows}. Copy the table again."
        )
    return file.deleted.of_file(footer.rows)
