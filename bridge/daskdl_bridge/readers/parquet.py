"""Parquet files, by Spark or anybody else."""

from collections.abc import (
    Callable,
    Collection,
    Generator,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from daskdl.data.blocks import BLOCK_BYTES
from daskdl.data.sources.source import SourceOptions
from daskdl_bridge.listing import Part
from daskdl_bridge.readers.arrow_files import open_for_arrow
from daskdl_bridge.readers.calendars import gregorian_table, parquet_calendars
from daskdl_bridge.readers.class_names import stored_class_names
from daskdl_bridge.readers.columns import check_exist
from daskdl_bridge.readers.error_location import naming_damaged_file
from daskdl_bridge.readers.file_summary import FileSummary
from daskdl_bridge.readers.footers import (
    Footer,
    read_footers,
    settled_columns,
    summarize_footers,
)
from daskdl_bridge.readers.intervals import (
    parquet_durations,
    parquet_intervals,
    refuse_months,
    with_durations,
)
from daskdl_bridge.readers.keys import as_instants
from daskdl_bridge.readers.table_reader import TablePartition, TableReader
from daskdl_bridge.readers.view_types import plain_schema, plain_table

__all__ = [
    "ParquetReader",
    "open_parts",
    "read_footer",
    "row_group_spans",
    "summarize_parts",
]

# The block size of HDFS, and so the usual size of Spark's files: those stay whole.
_LARGE_BYTES = 128 << 20
# What pages of a column take: a dictionary, a page, and the same page compressed. A row
# group that is not larger than those of all its columns is read a column at a time.
_PAGES_BYTES = 5 << 19
# Of each column of a large row group at a time: with less, a distant store is asked too
# often.
_READ_BYTES = 256 << 10


@dataclass(frozen=True)
class ParquetReader(TableReader):
    """Reads columns of some row groups.

    Parameters
    ----------
    row_groups : (int, int), optional
        First row group and the one after the last; all if not given.
    """

    row_groups: tuple[int, int] | None = None

    def read_blocks(
        self, part: Part, columns: list[str], options: SourceOptions
    ) -> Generator[Any, None, None]:
        """Yield tables of some row groups, or of a part of one that is large."""
        with _opened(part, columns, options) as file:
            read = frozenset(columns)
            sizes = {
                group: _made_bytes(file.metadata.row_group(group), read, options)
                for group in self._groups(file)
            }
            in_pages = _PAGES_BYTES * _n_leaves(file.schema, read)
            meant = _meaning(file, part.url)
            for groups in _gathered(sizes):
                nbytes = sum(sizes[group] for group in groups)
                if nbytes <= BLOCK_BYTES:
                    yield meant(_read(file, groups, columns))
                elif nbytes <= min(in_pages, _LARGE_BYTES):
                    yield _Columns(part.url, file, groups, columns, meant)
                else:
                    (group,) = groups
                    footer = file.metadata
                    yield from _paged(part, group, nbytes, columns, options, footer)

    def _groups(self, file: Any) -> list[int]:
        return list(range(*(self.row_groups or (0, file.num_row_groups))))


def open_parts(parts: Sequence[Part], options: SourceOptions) -> list[TablePartition]:
    """Make partitions of Parquet files; only their footers are read.

    Parameters
    ----------
    parts : sequence of Part
        A file above 128 MiB makes several partitions, of whole row groups.
    options : SourceOptions
        Columns and what to make of them.

    Returns
    -------
    list of TablePartition
        With the number of rows of each.

    Raises
    ------
    ColumnError
        If a file lacks a column, or it has a type that cannot be used.
    CorruptFileError
        If a file is cut short or damaged, as far as its footer tells.
    """
    footers, parts = read_footers(parts, options, "Parquet", read_footer)
    columns, parts = settled_columns(parts, footers, options)
    partitions = []
    for part, footer in zip(parts, footers, strict=True):
        refuse_months(columns, footer.types, part.url)
        names = stored_class_names(footer.metadata.metadata, options)
        for start, stop, first_row, rows in row_group_spans(footer.metadata):
            is_whole = (start, stop) == (0, footer.metadata.num_row_groups)
            partitions.append(
                TablePartition(
                    name=part.url if is_whole else f"{part.url} [{start}:{stop}]",
                    rows=rows,
                    part=part,
                    reader=ParquetReader(None if is_whole else (start, stop)),
                    columns=columns,
                    options=options,
                    first_row=first_row,
                    class_names=names,
                )
            )
    return partitions


def summarize_parts(parts: Sequence[Part], options: SourceOptions) -> FileSummary:
    """Tell columns and rows of Parquet files; their footers are read."""
    return summarize_footers(read_footers(parts, options, "Parquet", read_footer)[0])


def read_footer(stream: Any) -> Footer:
    """Return the footer of an open Parquet file; its metadata are pyarrow's."""
    file = pq.ParquetFile(stream)
    metadata = file.metadata
    return Footer(rows=metadata.num_rows, types=_types(file), metadata=metadata)


def row_group_spans(metadata: Any) -> Iterator[tuple[int, int, int, int]]:
    """Cut a file into pieces of whole row groups, of 128 MiB or a row group each.

    Parameters
    ----------
    metadata : pyarrow.parquet.FileMetaData

    Yields
    ------
    (int, int, int, int)
        First row group, the one after the last, first row, and number of rows.
    """
    start, first_row, rows, size = 0, 0, 0, 0
    for index in range(metadata.num_row_groups):
        group = metadata.row_group(index)
        if size and size + group.total_byte_size > _LARGE_BYTES:
            yield start, index, first_row, rows
            start, first_row, rows, size = index, first_row + rows, 0, 0
        rows += group.num_rows
        size += group.total_byte_size
    yield start, metadata.num_row_groups, first_row, rows


@contextmanager
def _opened(
    part: Part, columns: Sequence[str], options: SourceOptions, **how: Any
) -> Iterator[Any]:
    with (
        naming_damaged_file(part.url, "Parquet"),
        open_for_arrow(part.url, options.storage_options) as stream,
    ):
        # Spark writes a checksum a page. Without it one bit that flipped in a page that
        # is not compressed, or only by Snappy, would be trained on.
        # Nanoseconds, the default for INT96, end in the year 2262.
        file = pq.ParquetFile(
            stream,
            page_checksum_verification=True,
            coerce_int96_timestamp_unit="us",
            **how,
        )
        check_exist(columns, file.schema_arrow.names, part.url)
        yield file


@dataclass(frozen=True, eq=False)
class _Columns:
    """A table of row groups whose columns are read when they are asked for.

    So that the numbers are in memory once, and one column of them twice.
    """

    url: str
    file: Any
    groups: list[int]
    column_names: list[str]
    meant: Callable[[Any], Any]

    @property
    def num_rows(self) -> int:
        metadata = self.file.metadata
        return sum(metadata.row_group(group).num_rows for group in self.groups)

    @property
    def schema(self) -> Any:
        schema = _schema(self.file)
        return pa.schema([schema.field(name) for name in self.column_names])

    def column(self, name: str) -> Any:
        with naming_damaged_file(self.url, "Parquet"):
            table = self.meant(_read(self.file, self.groups, [name]))
            return table.column(name)


def _read(file: Any, groups: list[int], columns: list[str]) -> Any:
    if not groups:
        # pyarrow 18 looks for a row group all the same, and fails.
        return file.schema_arrow.empty_table().select(columns)
    return file.read_row_groups(groups, columns=columns)


def _meaning(file: Any, url: str) -> Callable[[Any], Any]:
    """Return what gives tables of a file plain types, and Spark's days and intervals.

    Once a file: it looks at all columns, and tables may have one of them each.
    """
    calendars = parquet_calendars(file)
    schema = plain_schema(file.schema_arrow)
    durations = parquet_durations(schema, file.metadata.metadata)
    return lambda table: with_durations(
        gregorian_table(plain_table(table), calendars, url), durations
    )


def _paged(
    part: Part,
    group: int,
    nbytes: int,
    columns: list[str],
    options: SourceOptions,
    metadata: Any,
) -> Iterator[Any]:
    """Yield tables of rows of one row group, of which some pages are in memory."""
    how = {"buffer_size": _READ_BYTES, "pre_buffer": False, "metadata": metadata}
    with _opened(part, columns, options, **how) as file:
        rows = file.metadata.row_group(group).num_rows
        at_once = max(1, rows * BLOCK_BYTES // nbytes)
        meant = _meaning(file, part.url)
        for batch in file.iter_batches(at_once, row_groups=[group], columns=columns):
            yield meant(pa.Table.from_batches([batch]))


def _gathered(sizes: Mapping[int, int]) -> Iterator[list[int]]:
    """Yield neighbouring row groups that make a block together."""
    groups: list[int] = []
    held = 0
    for group, size in sizes.items():
        if groups and held + size > BLOCK_BYTES:
            yield groups
            groups, held = [], 0
        groups.append(group)
        held += size
    yield groups


def _made_bytes(group: Any, columns: Collection[str], options: SourceOptions) -> int:
    """Return about what the examples of a row group hold."""
    # Without a dtype that of the column decides, which is this at most.
    itemsize = np.dtype(options.dtype or np.float64).itemsize
    made = 0
    for index in range(group.num_columns):
        leaf = group.column(index)
        if _is_of(leaf.path_in_schema, columns):
            # Numbers may be stored packed, texts and images are what is stored.
            is_number = not leaf.physical_type.endswith("BYTE_ARRAY")
            each = leaf.num_values * itemsize
            made += each if is_number else leaf.total_uncompressed_size
    # Of sparse vectors much less is stored.
    return max(made, int(group.num_rows) * (options.n_features or 0) * itemsize)


def _is_of(path: str, columns: Collection[str]) -> bool:
    """Tell whether the leaf at a path is in one of these columns."""
    return path in columns or path.partition(".")[0] in columns


def _n_leaves(schema: Any, columns: Collection[str]) -> int:
    return sum(_is_of(schema.column(i).path, columns) for i in range(len(schema)))


def _types(file: Any) -> dict[str, Any]:
    """Return the types of the columns; INT96 is a timestamp, as for Spark."""
    leaves = [file.schema.column(i) for i in range(len(file.schema))]
    int96 = tuple(f"{leaf.path}." for leaf in leaves if leaf.physical_type == "INT96")
    return {
        field.name: as_instants(field.type)
        if any(path.startswith(f"{field.name}.") for path in int96)
        else field.type
        for field in _schema(file)
    }


def _schema(file: Any) -> Any:
    return parquet_intervals(plain_schema(file.schema_arrow), file.metadata.metadata)
