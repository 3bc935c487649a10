"""ORC files, by Spark or anybody else."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow.orc as orc

from daskdl.data.sources.source import SourceOptions
from daskdl_bridge.listing import Part
from daskdl_bridge.readers.columns import check_exist, check_types, resolve_columns
from daskdl_bridge.readers.examples import TablePartition, TableReader
from daskdl_bridge.readers.footers import Footer, look_at_footers, read_footers
from daskdl_bridge.readers.keys import with_key_type
from daskdl_bridge.readers.look import Look
from daskdl_bridge.readers.place import reading
from daskdl_bridge.storage import open_input

__all__ = ["OrcReader", "look_at_parts", "open_parts"]


@dataclass(frozen=True)
class OrcReader(TableReader):
    """Reads columns of a whole ORC file."""

    def read(self, part: Part, columns: list[str], options: SourceOptions) -> Any:
        """Return a pyarrow.Table; see `TableReader.read`."""
        with (
            reading(part.url, "ORC"),
            open_input(part.url, options.storage_options) as stream,
        ):
            return orc.ORCFile(stream).read(columns=columns)


def open_parts(parts: Sequence[Part], options: SourceOptions) -> list[TablePartition]:
    """Make a partition of each ORC file; only their footers are read.

    Parameters
    ----------
    parts : sequence of Part
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
    footers, parts = read_footers(parts, options, "ORC", _footer)
    columns = resolve_columns(options, footers[0].types, parts[0])
    partitions = []
    for part, footer in zip(parts, footers, strict=True):
        check_exist(columns.all(), [*footer.types, *part.types], part.url)
        check_types(columns, footer.types, part.url)
    columns = with_key_type(columns, parts, [footer.types for footer in footers])
    for part, footer in zip(parts, footers, strict=True):
        partitions.append(
            TablePartition(
                name=part.url,
                rows=footer.rows,
                part=part,
                reader=OrcReader(),
                columns=columns,
                options=options,
            )
        )
    return partitions


def look_at_parts(parts: Sequence[Part], options: SourceOptions) -> Look:
    """Tell columns and rows of ORC files; their footers are read."""
    return look_at_footers(read_footers(parts, options, "ORC", _footer)[0])


def _footer(stream: Any) -> Footer:
    file = orc.ORCFile(stream)
    # In here, since names are decoded only now and may be damaged.
    return Footer(rows=file.nrows, types={f.name: f.type for f in file.schema})
