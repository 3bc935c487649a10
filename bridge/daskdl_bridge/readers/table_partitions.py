"""Partitions of files whose forms tell no rows: whole files, or spans of bytes."""

from collections.abc import Sequence

from daskdl.data.sources.source import SourceOptions
from daskdl_bridge.listing import Part
from daskdl_bridge.readers.columns import ExampleColumns
from daskdl_bridge.readers.line_ranges import cut
from daskdl_bridge.readers.row_in_span import first_row_of
from daskdl_bridge.readers.table_reader import TablePartition, TableReader

__all__ = ["file_partitions", "span_partitions"]

# What one partition is made of. It is read by blocks, so that it may be larger than
# what memory holds; smaller ones would be shared out no better.
_SPAN_BYTES = 32 << 20


def file_partitions(
    parts: Sequence[Part],
    reader: TableReader,
    columns: ExampleColumns,
    options: SourceOptions,
) -> list[TablePartition]:
    """Make a partition of each file: those that cannot be begun in their midst."""
    return [
        TablePartition(
            name=part.url,
            rows=0 if part.size == 0 else None,
            part=part,
            reader=reader,
            columns=columns,
            options=options,
        )
        for part in parts
    ]


def span_partitions(
    parts: Sequence[Part],
    reader: TableReader,
    columns: ExampleColumns,
    options: SourceOptions,
) -> list[TablePartition]:
    """Make partitions of 32 MiB: of files that have marks to begin at."""
    return [
        TablePartition(
            name=piece.place,
            rows=None,
            part=piece,
            reader=reader,
            columns=columns,
            options=options,
            first_row=first_row_of(piece),
        )
        for part in parts
        for piece in cut(part, _SPAN_BYTES)
    ]
