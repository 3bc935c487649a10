"""ORC files, by Spark or anybody else."""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.orc as orc

from daskdl.data.blocks import BLOCK_BYTES
from daskdl.data.sources.source import SourceOptions
from daskdl.errors import ColumnError
from daskdl_bridge.listing import Part
from daskdl_bridge.readers.arrow_files import open_for_arrow
from daskdl_bridge.readers.calendars import (
    HybridCalendar,
    gregorian_table,
    leaf_types,
)
from daskdl_bridge.readers.error_location import naming_damaged_file
from daskdl_bridge.readers.file_summary import FileSummary
from daskdl_bridge.readers.footers import (
    Footer,
    read_footers,
    settled_columns,
    summarize_footers,
)
from daskdl_bridge.readers.intervals import (
    CATALYST_TYPE,
    interval_type,
    refuse_months,
)
from daskdl_bridge.readers.nested import type_of
from daskdl_bridge.readers.orc_footer import has_hybrid_dates
from daskdl_bridge.readers.table_reader import TablePartition, WholeReader

__all__ = ["OrcReader", "open_parts", "summarize_parts"]

# Of timestamp_ntz; those of ORC itself have nanoseconds.
_WALL_TIME = pa.timestamp("us")


@dataclass(frozen=True)
class OrcReader(WholeReader):
    """Reads columns of a whole ORC file."""

    def read(self, part: Part, columns: list[str], options: SourceOptions) -> Any:
        """Return a pyarrow.Table; see `WholeReader.read`."""
        with _opened(part, columns, options) as (file, as_spark_means):
            return as_spark_means(file.read(columns=columns))

    def read_blocks(
        self, part: Part, columns: list[str], options: SourceOptions
    ) -> Generator[Any, None, None]:
        """Yield tables of as many stripes as take up the bytes of a block."""
        if part.size <= BLOCK_BYTES:
            yield self.read(part, columns, options)
            return
        with _opened(part, columns, options) as (file, as_spark_means):
            at_once = max(1, file.nstripes * BLOCK_BYTES // part.size)
            for first in range(0, file.nstripes, at_once):
                stripes = range(first, min(first + at_once, file.nstripes))
                batches = [file.read_stripe(number, columns) for number in stripes]
                yield as_spark_means(pa.Table.from_batches(batches))


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
        If a file lacks a column, or it has a type that cannot be used; for keys, one
        with timestamps.
    CorruptFileError
        If a file is cut short or damaged, as far as its footer tells.
    """
    footers, parts = read_footers(parts, options, "ORC", _footer)
    columns, settled = settled_columns(parts, footers, options)
    for part, footer in zip(parts, footers, strict=True):
        _check_carried([*columns.keys, *columns.kept], footer.types, part.url)
        refuse_months(columns, footer.types, part.url)
    parts = settled
    partitions = []
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


def summarize_parts(parts: Sequence[Part], options: SourceOptions) -> FileSummary:
    """Tell columns and rows of ORC files; their footers are read."""
    return summarize_footers(read_footers(parts, options, "ORC", _footer)[0])


def _check_carried(names: Sequence[str], types: Mapping[str, Any], url: str) -> None:
    """Refuse timestamps as keys, or to be kept: they would come back as others.

    ORC stores local times beside the time zone of whoever wrote them, which pyarrow
    does not tell; Spark means instants.
    """
    for name in names:
        found = type_of(name, types)
        if found is not None and _has_local_times(found):
            raise ColumnError(
                f"{url}: column {name!r} must not hold timestamps of ORC to be the "
                f"key, or to be kept, got {found}: nobody would know their time zone. "
                "Take other columns, or have Spark write Parquet."
            )


def _has_local_times(arrow_type: Any) -> bool:
    if pa.types.is_timestamp(arrow_type):
        return arrow_type.tz is None and arrow_type != _WALL_TIME
    children = (arrow_type.field(i).type for i in range(arrow_type.num_fields))
    return any(map(_has_local_times, children))


def _footer(stream: Any) -> Footer:
    file = orc.ORCFile(stream)
    # In here, since names are decoded only now and may be damaged.
    types = {field.name: _spark_type(field, with_months=True) for field in file.schema}
    return Footer(rows=file.nrows, types=types)


@contextmanager
def _opened(
    part: Part, columns: Sequence[str], options: SourceOptions
) -> Iterator[tuple[Any, Callable[[Any], Any]]]:
    """Open a file; with it comes what makes its tables those that Spark reads."""
    with (
        naming_damaged_file(part.url, "ORC"),
        open_for_arrow(part.url, options.storage_options) as stream,
    ):
        file = orc.ORCFile(stream)
        calendars = _calendars(file.schema, columns)
        if calendars and not has_hybrid_dates(stream, part.url):
            calendars = {}
        yield (
            file,
            lambda table: _with_times(gregorian_table(table, calendars, part.url)),
        )


def _calendars(
    schema: Any, columns: Sequence[str]
) -> dict[str, list[HybridCalendar | None]]:
    """Return columns that hold dates; timestamps of ORC become no keys."""
    found: dict[str, list[HybridCalendar | None]] = {}
    for name in columns:
        for index in schema.get_all_field_indices(name):
            leaves = leaf_types(schema.field(index).type)
            found[name] = [
                HybridCalendar() if pa.types.is_date32(kind) else None
                for kind in leaves
            ]
    return {name: leaves for name, leaves in found.items() if any(leaves)}


def _with_times(table: Any) -> Any:
    """Return a table whose integers are times or durations where Spark wrote those."""
    types = [_spark_type(field) for field in table.schema]
    if types == table.schema.types:
        return table
    return table.cast(
        pa.schema(
            [f.with_type(kind) for f, kind in zip(table.schema, types, strict=True)]
        )
    )


def _spark_type(field: Any, *, with_months: bool = False) -> Any:
    """Return the type of a column as Spark means it.

    ``timestamp_ntz`` is stored as microseconds in a bigint, with an attribute, and so
    are intervals; those of months stay numbers unless they are wanted.
    """
    kind = field.type
    noted = (field.metadata or {}).get(CATALYST_TYPE.encode(), b"").decode()
    if noted == "timestamp_ntz":
        return _WALL_TIME
    interval = interval_type(noted)
    if interval is not None and pa.types.is_integer(kind):
        return interval if with_months or pa.types.is_duration(interval) else kind
    spark_type = partial(_spark_type, with_months=with_months)
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(spark_type(kind.value_field)))
    if pa.types.is_struct(kind):
        return pa.struct([one.with_type(spark_type(one)) for one in kind])
    return kind
