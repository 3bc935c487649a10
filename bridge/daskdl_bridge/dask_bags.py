"""Dask bags: one partition a partition of theirs, of what their first element is."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from daskdl.data.blocks import joined_examples
from daskdl.data.dataset import DataSet
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.data.sources.dask_graphs import ChunkGraph, ChunkGraphs, is_of_dask
from daskdl.data.sources.partition import Partition, Source
from daskdl.data.sources.row_options import TABLE_OPTIONS
from daskdl.data.sources.source import SourceOptions
from daskdl.data.sources.unused_options import (
    COLUMN_OPTIONS,
    refuse_given,
    refuse_unused,
)
from daskdl.errors import ColumnError, DataError
from daskdl_bridge import element_blocks
from daskdl_bridge.element_kinds import ElementKind, kind_of_element
from daskdl_bridge.listing import Part
from daskdl_bridge.readers.block_examples import as_in_memory, examples_of_block
from daskdl_bridge.readers.columns import check_types, resolve_columns
from daskdl_bridge.readers.error_location import ErrorLocation
from daskdl_bridge.readers.held_columns import held_column
from daskdl_bridge.readers.keys import with_key_type
from daskdl_bridge.readers.pickle_rows import array_of_pickled
from daskdl_bridge.readers.table_reader import TablePartition, WholeReader

__all__ = ["BagPartition", "DaskBagSources"]

_NAME = "dask bag"

# What tells the columns of rows: of the first partition that has some.
_FIRST_ROWS = 100

Examples: TypeAlias = DataSet | MultiDataSet
_Read: TypeAlias = Callable[[Iterable[Any], SourceOptions, str], Iterator[Examples]]


class DaskBagSources:
    """Opens a dask bag.

    Its elements are DataSets or MultiDataSets, which are minibatches; arrays of one
    example each, ``(features, labels)``, or ``(key, features)`` with a mask behind
    them or not; or rows, which are dicts or tuples of numbers and texts.
    """

    def accepts(self, data: Any) -> bool:
        """Say whether the data is a dask bag."""
        return is_of_dask(data) and hasattr(data, "pluck")

    def open(self, data: Any, options: SourceOptions) -> Source:
        """Make a partition of each partition; the first elements are computed.

        Raises
        ------
        OptionError
            If an option does not go with what the bag holds.
        ColumnError
            If a column is not there, or has a type that cannot be used, as far as the
            first rows tell.
        DataError
            If the bag holds nothing, or what is no example.
        """
        refuse_given("DaskBagSources", "Dask collections", options, ["format"])
        first = _first_elements(data)
        graphs = ChunkGraphs([data])
        (optimised,) = graphs.collections
        held = [(graphs.of([key]), key) for key in optimised.__dask_keys__()]
        if _is_row(first[0]):
            return _source_of_rows(held, first, options)
        return _source_of_examples(held, first[0], options)


@dataclass(frozen=True, eq=False)
class BagPartition(Partition):
    """Elements of a bag that are examples.

    Parameters
    ----------
    name : str
        What messages call it.
    graph : ChunkGraph
    key : key
        The task that computes the elements.
    read : callable
        Makes data sets of elements.
    empty : DataSet or MultiDataSet
        What a partition without elements holds: no rows, of the shapes of others.
    options : SourceOptions
    is_keyed : bool
        Whether elements have keys.
    """

    name: str
    graph: ChunkGraph
    key: Hashable
    read: _Read
    empty: Examples
    options: SourceOptions
    is_keyed: bool
    rows: int | None = None

    def held_keys(self) -> tuple[Hashable, ...]:
        """Return that of a persisted partition; see `Partition.held_keys`."""
        return tuple(self.graph.persisted)

    def load(self) -> Examples:
        """Compute the elements in this thread; see `Partition.load`."""
        blocks = list(self.load_blocks())
        return joined_examples(blocks, [self.name] * len(blocks))

    def load_blocks(self) -> Iterator[Examples]:
        """Yield blocks of the elements; see `Partition.load_blocks`."""
        (elements,) = self.graph.compute([self.key])
        is_empty = True
        for block in self.read(elements, self.options, self.name):
            is_empty = False
            yield block
        if is_empty:
            yield self.empty

    def has_keys(self) -> bool:
        """Say whether elements have keys; see `Partition.has_keys`."""
        return self.is_keyed


def _source_of_examples(
    held: list[tuple[ChunkGraph, Hashable]], first: Any, options: SourceOptions
) -> Source:
    refuse_unused("DaskBagSources", "a Dask bag of arrays", options)
    what = "a Dask bag of arrays, which has no columns"
    refuse_given("DaskBagSources", what, options, COLUMN_OPTIONS)
    kind = kind_of_element(_NAME, first)
    if kind not in _READERS:
        raise DataError(
            f"{_NAME}: elements must be examples, got {kind.value}. Give paths as a "
            "list, and rows as dicts."
        )
    read = _READERS[kind]
    empty = next(read([first], options, _NAME)).slice(0, 0)
    is_keyed = kind.keys is not None
    partitions = tuple(
        BagPartition(f"{_NAME} {number}", graph, key, read, empty, options, is_keyed)
        for number, (graph, key) in enumerate(held)
    )
    return Source(_NAME, partitions, minibatches=read is _datasets)


def _datasets(
    elements: Iterable[Any], options: SourceOptions, name: str
) -> Iterator[Examples]:
    for number, element in enumerate(elements):
        if not isinstance(element, DataSet | MultiDataSet):
            raise DataError(
                f"{name}: elements must all be DataSets or MultiDataSets as the first "
                f"is, element {number} is a {type(element).__qualname__}."
            )
        yield as_in_memory(element, options)


def _blocks(
    blocks_of: Callable[[Iterable[Any], str], Iterator[Any]],
    elements: Iterable[Any],
    options: SourceOptions,
    name: str,
) -> Iterator[Examples]:
    try:
        for keys, arrays in blocks_of(elements, name):
            yield examples_of_block(keys, arrays, options)
    except DataError:
        raise
    except ValueError as error:
        raise DataError(str(error)) from error


_READERS: Mapping[ElementKind, _Read] = MappingProxyType(
    {
        ElementKind.DATASETS: _datasets,
        ElementKind.KEYED_DATASETS: _datasets,
        ElementKind.EXAMPLES: partial(_blocks, element_blocks.blocks_of_examples),
        ElementKind.PAIRS: partial(_blocks, element_blocks.blocks_of_pairs),
    }
)


def _source_of_rows(
    held: list[tuple[ChunkGraph, Hashable]], first: list[Any], options: SourceOptions
) -> Source:
    refuse_unused("DaskBagSources", "a Dask bag of rows", options, TABLE_OPTIONS)
    part = Part(url=_NAME)
    rows = [_named(row, part) for row in first]
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = resolve_columns(options, names, part, has_structs=True)
    types = {name: _column(rows, name, part).type for name in columns.stored()}
    check_types(columns, types, _NAME, options)
    # Keys are written as what they are: the first rows may not tell their type.
    kept = with_key_type(replace(columns, keys=()), [part], [types])
    columns = replace(kept, keys=columns.keys)
    partitions = []
    for number, (graph, key) in enumerate(held):
        name = f"{_NAME} {number}"
        partitions.append(
            TablePartition(
                name=name,
                rows=None,
                part=Part(url=name),
                reader=_RowsReader(graph, key),
                columns=columns,
                options=options,
            )
        )
    return Source(_NAME, tuple(partitions))


@dataclass(frozen=True, eq=False)
class _RowsReader(WholeReader):
    """Computes rows of a bag in this thread."""

    graph: ChunkGraph
    key: Hashable

    def read(self, part: Part, columns: list[str], options: SourceOptions) -> Any:
        """Return the columns; see `WholeReader.read`."""
        (elements,) = self.graph.compute([self.key])
        rows = [_named(row, part) for row in elements]
        return pa.table({name: _column(rows, name, part) for name in columns})


def _first_elements(bag: Any) -> list[Any]:
    heads = ChunkGraphs([bag.map_partitions(_head)])
    for key in heads.collections[0].__dask_keys__():
        first: list[Any] = heads.compute_there(key)
        if first:
            return first
    raise DataError(f"{_NAME}: must hold an example, got none.")


def _head(elements: Iterable[Any]) -> list[Any]:
    """Return the first element; of rows more, which tell types together."""
    each = iter(elements)
    first = list(islice(each, 1))
    are_rows = bool(first) and _is_row(first[0])
    return [*first, *islice(each, _FIRST_ROWS - 1)] if are_rows else first


def _is_row(element: Any) -> bool:
    if isinstance(element, Mapping):
        return True
    return isinstance(element, tuple) and all(
        isinstance(value, str | int | float | np.number | np.bool_ | None)
        for value in element
    )


def _named(row: Any, part: Part) -> Mapping[str, Any]:
    """Return the values of a row by the names of their columns."""
    if isinstance(row, Mapping):
        return row
    if isinstance(row, tuple):
        return {f"_c{number}": value for number, value in enumerate(row)}
    raise ColumnError(
        f"{part.url}: elements must all be dicts or tuples as the first is, got a "
        f"{type(row).__qualname__}."
    )


def _column(rows: list[Mapping[str, Any]], name: str, part: Part) -> Any:
    cells = [row.get(name) for row in rows]
    make = partial(array_of_pickled, cells, None)
    return held_column(make, ErrorLocation(part.url, name))
