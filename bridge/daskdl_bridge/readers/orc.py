"""ORC files, by Spark or anybody else."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pyarrow.orc as orc

from daskdl.data.fingerprint import tail_of
from daskdl.data.sources.source import SourceOptions
from daskdl_bridge.listing import Part
from daskdl_bridge.readers.columns import check_exist, check_types, resolve_columns
from daskdl_bridge.readers.examples import TablePartition, TableReader
from daskdl_bridge.readers.keys import with_key_type
from daskdl_bridge.readers.look import Look, type_in_words
from daskdl_bridge.readers.place import reading
from daskdl_bridge.storage import open_input

__all__ = ["OrcReader", "look_at_parts", "open_parts"]

_FOOTERS_AT_ONCE = 8


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
    found = _footers(parts, options)
    footers = [here[:2] for here in found]
    parts = [part.with_tail(here[2]) for part, here in zip(parts, found, strict=True)]
    columns = resolve_columns(options, footers[0][1], parts[0])
    partitions = []
    for part, (_, types) in zip(parts, footers, strict=True):
        check_exist(columns.all(), [*types, *part.types], part.url)
        check_types(columns, types, part.url)
    columns = with_key_type(columns, parts, [types for _, types in footers])
    for part, (rows, _) in zip(parts, footers, strict=True):
        partitions.append(
            TablePartition(
                name=part.url,
                rows=rows,
                part=part,
                reader=OrcReader(),
                columns=columns,
                options=options,
            )
        )
    return partitions


def look_at_parts(parts: Sequence[Part], options: SourceOptions) -> Look:
    """Tell columns and rows of ORC files; their footers are read."""
    found = _footers(parts, options)
    types: dict[str, str] = {}
    for _, kinds, _ in found:
        for name, kind in kinds.items():
            types.setdefault(name, type_in_words(kind))
    return Look(types=types, rows=[rows for rows, _, _ in found])


def _footers(
    parts: Sequence[Part], options: SourceOptions
) -> list[tuple[int, Mapping[str, Any], str]]:
    """Return of each file what tells its rows, its types, and the digest of its end."""

    def footer(part: Part) -> tuple[int, Mapping[str, Any], str]:
        with (
            reading(part.url, "ORC"),
            open_input(part.url, options.storage_options) as stream,
        ):
            file = orc.ORCFile(stream)
            # In here, since names are decoded only now and may be damaged.
            types = {field.name: field.type for field in file.schema}
            return file.nrows, types, tail_of(stream)

    with ThreadPoolExecutor(_FOOTERS_AT_ONCE) as pool:
        return list(pool.map(footer, parts))
