"""Tables that the caller holds in memory: pandas, Arrow, and whatever speaks Arrow."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa

from daskdl.data.sources.partition import Source
from daskdl.data.sources.row_options import TABLE_OPTIONS
from daskdl.data.sources.source import SourceOptions
from daskdl.data.sources.unused_options import refuse_given, refuse_unused
from daskdl.errors import ColumnError
from daskdl_bridge.listing import Part
from daskdl_bridge.readers.columns import check_named_once
from daskdl_bridge.readers.first_value import showing_first_value
from daskdl_bridge.readers.footers import Footer, settled_columns
from daskdl_bridge.readers.table_reader import TablePartition, WholeReader
from daskdl_bridge.readers.view_types import plain_schema, plain_table

__all__ = ["HeldTableSources"]


@dataclass(frozen=True, eq=False)
class _HeldTable(WholeReader):
    """Gives columns of a table that travels with it.

    Parameters
    ----------
    table : pyarrow.Table
    """

    table: Any

    def read(self, part: Part, columns: list[str], options: SourceOptions) -> Any:
        """Return the columns; see `WholeReader.read`."""
        return self.table.select(columns)


class HeldTableSources:
    """Opens a pandas data frame, an Arrow table or record batch, or another's table.

    What is in the columns is taken as from a Parquet file. A row index is left out.
    """

    def accepts(self, data: Any) -> bool:
        """Say whether the data are a table in memory."""
        return _is_pandas(data) or hasattr(type(data), "__arrow_c_stream__")

    def open(self, data: Any, options: SourceOptions) -> Source:
        """Wrap the table in a partition that carries it.

        Raises
        ------
        OptionError
            If an option is set that makes no sense for a table in memory.
        ColumnError
            If a column that the options name is not there, or no column can hold what
            is in one of them.
        """
        name = f"{type(data).__module__.partition('.')[0]} {type(data).__name__}"
        refuse_given("HeldTableSources", "tables in memory", options, ["format"])
        refuse_unused("HeldTableSources", "tables in memory", options, TABLE_OPTIONS)
        table = _as_table(data, name)
        partitions = showing_first_value(partial(_partitions, name, table), options)
        return Source(name, tuple(partitions), in_memory=True)


def _partitions(name: str, table: Any, options: SourceOptions) -> list[TablePartition]:
    types = {field.name: field.type for field in plain_schema(table.schema)}
    part = Part(url=name)
    columns, _ = settled_columns(
        [part], [Footer(rows=table.num_rows, types=types)], options
    )
    check_named_once(name, table.column_names, columns.stored())
    partition = TablePartition(
        name=name,
        rows=table.num_rows,
        part=part,
        reader=_HeldTable(plain_table(table.select(columns.stored()))),
        columns=columns,
        options=options,
    )
    return [partition]


def _as_table(data: Any, name: str) -> Any:
    # Arrow 18 crashes when it imports views of lists of its own.
    if isinstance(data, pa.Table):
        return data
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data])
    try:
        if _is_pandas(data):
            # Arrow takes no others.
            check_named_once(name, data.columns, data.columns)
            return pa.Table.from_pandas(data, preserve_index=False)
        return pa.table(data)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise ColumnError(
            f"{name}: columns must hold numbers, texts or lists of one type each, got "
            f"what Arrow has no type for: {error}"
        ) from error


def _is_pandas(data: Any) -> bool:
    kind = type(data)
    # Of pandas 3 it says that it is of pandas, of earlier ones of a module in it.
    package = kind.__module__.partition(".")[0]
    return package == "pandas" and kind.__name__ == "DataFrame"
