"""Dask data frames: one partition a partition of theirs, read as tables are."""

from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from daskdl.checks import some
from daskdl.data.masked_arrays import without_mask
from daskdl.data.sources.dask_graphs import ChunkGraph, ChunkGraphs, is_of_dask
from daskdl.data.sources.partition import Source
from daskdl.data.sources.row_options import TABLE_OPTIONS
from daskdl.data.sources.source import SourceOptions
from daskdl.data.sources.unused_options import refuse_given, refuse_unused
from daskdl.errors import ColumnError
from daskdl_bridge.listing import Part
from daskdl_bridge.readers.columns import (
    ExampleColumns,
    check_named_once,
    check_types,
    resolve_columns,
)
from daskdl_bridge.readers.error_location import ErrorLocation
from daskdl_bridge.readers.held_columns import held_column
from daskdl_bridge.readers.keys import with_key_type
from daskdl_bridge.readers.nested import type_of
from daskdl_bridge.readers.pickle_rows import array_of_pickled
from daskdl_bridge.readers.table_reader import TablePartition, WholeReader

__all__ = ["DaskFrameSources"]

_NAME = "dask data frame"


@dataclass(frozen=True, eq=False)
class _FramePartition(WholeReader):
    """Computes a partition of a data frame in this thread.

    Parameters
    ----------
    graph : ChunkGraph
    key : key
        The task that computes the pandas data frame.
    """

    graph: ChunkGraph
    key: Hashable

    def read(self, part: Part, columns: list[str], options: SourceOptions) -> Any:
        """Return the columns; see `WholeReader.read`."""
        (frame,) = self.graph.compute([self.key])
        return pa.table({name: _column(frame[name], name, part) for name in columns})


class DaskFrameSources:
    """Opens a dask data frame. What is in the columns is taken as from Parquet."""

    def accepts(self, data: Any) -> bool:
        """Say whether the data is a dask data frame."""
        is_frame = hasattr(data, "npartitions") and hasattr(data, "columns")
        return is_of_dask(data) and is_frame

    def open(self, data: Any, options: SourceOptions) -> Source:
        """Make a partition of each partition; nothing is computed.

        Raises
        ------
        OptionError
            If an option does not go with data frames.
        ColumnError
            If a column is not there, or has a type that cannot be used, as far as dask
            knows it.
        """
        refuse_given("DaskFrameSources", "Dask collections", options, ["format"])
        refuse_unused("DaskFrameSources", "Dask data frames", options, TABLE_OPTIONS)
        part = Part(url=_NAME)
        check_named_once(_NAME, data.columns, data.columns)
        names = [name for name in data.columns if isinstance(name, str)]
        columns = resolve_columns(options, names, part, has_structs=True)
        types = _types(data)
        check_types(columns, types, _NAME, options)
        columns = _with_types(columns, types, part)
        graphs = ChunkGraphs([data[columns.stored()]])
        (optimised,) = graphs.collections
        partitions = []
        for number, key in enumerate(optimised.__dask_keys__()):
            name = f"dask partition {number}"
            partition = TablePartition(
                name=name,
                rows=None,
                part=Part(url=name),
                reader=_FramePartition(graphs.of([key]), key),
                columns=columns,
                options=options,
            )
            partitions.append(partition)
        return Source(_NAME, tuple(partitions))


def _types(frame: Any) -> dict[str, Any]:
    """Return the types of the columns whose types dask knows."""
    found = pa.Schema.from_pandas(frame._meta, preserve_index=False)
    # Of objects and of categories only the values tell.
    return {
        one.name: one.type
        for one in found
        if not (pa.types.is_null(one.type) or pa.types.is_dictionary(one.type))
    }


def _with_types(
    columns: ExampleColumns, types: dict[str, Any], part: Part
) -> ExampleColumns:
    unknown = [name for name in columns.kept if type_of(name, types) is None]
    if unknown:
        raise ColumnError(
            f"{part.url}: columns that are kept must have types that dask knows, got "
            f"{some(unknown)} of objects or categories. Convert them, for instance by "
            "astype('string[pyarrow]')."
        )
    # Keys of other types are written as what they are in memory.
    are_known = all(type_of(name, types) is not None for name in columns.keys)
    typed = columns if are_known else replace(columns, keys=())
    return replace(with_key_type(typed, [part], [types]), keys=columns.keys)


def _column(values: Any, name: str, part: Part) -> Any:
    make = partial(_array, values, name, part)
    return held_column(make, ErrorLocation(part.url, name))


def _array(values: Any, name: str, part: Part) -> Any:
    if values.dtype != object:
        return pa.array(values)
    cells = [_plain(cell, name, part) for cell in values]
    has_axes = any(isinstance(c, np.ndarray) and c.ndim > 1 for c in cells)
    return array_of_pickled(cells, None) if has_axes else pa.array(values)


def _plain(cell: Any, name: str, part: Part) -> Any:
    if isinstance(cell, np.ma.MaskedArray):
        return np.asarray(without_mask(part.url, f"column {name!r}", cell))
    return cell
