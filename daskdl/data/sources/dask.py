"""Dask arrays, chunked along their first axis: one partition a chunk."""

import dataclasses
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from daskdl.data.columns import examples_from_columns
from daskdl.data.dataset import DataSet
from daskdl.data.masked_arrays import without_mask
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.data.sources.dask_graphs import ChunkGraph, ChunkGraphs, is_of_dask
from daskdl.data.sources.partition import Partition, Source
from daskdl.data.sources.source import SourceOptions
from daskdl.data.sources.unused_options import (
    COLUMN_OPTIONS,
    refuse_given,
    refuse_unused,
)
from daskdl.errors import DataError, ShapeError

__all__ = ["ArrayChunk", "DaskSources", "array_chunks"]


class DaskSources:
    """Opens a dask array, or a pair of arrays of which one at least is of dask."""

    def accepts(self, data: Any) -> bool:
        """Say whether the data is one of these."""
        return _is_array(data) or _is_pair(data)

    def open(self, data: Any, options: SourceOptions) -> Source:
        """Make one partition of each chunk; nothing is computed.

        Raises
        ------
        OptionError
            If an option does not go with the kind of data.
        DataError
            If labels are needed and there are only features.
        ShapeError
            If features and labels differ in their number of rows, or only one of them
            is in memory and dask does not know how many rows the other has.
        """
        refuse_given("DaskSources", "Dask collections", options, ["format"])
        refuse_unused("DaskSources", "Dask collections", options)
        arrays = (data,) if _is_array(data) else data
        return Source("dask arrays", _pair_partitions(arrays, options))


@dataclass(frozen=True, eq=False)
class ArrayChunk(Partition):
    """One chunk of some dask arrays along their first axis.

    Parameters
    ----------
    name : str
        What messages call it.
    rows : int or None
        None where dask does not know the size of its chunks.
    graph : ChunkGraph
    keys : mapping of str to key
        Column to the task that computes it.
    values : mapping of str to ndarray of shape (rows, ...)
        Columns that are no dask arrays.
    options : SourceOptions
    """

    name: str
    rows: int | None
    graph: ChunkGraph
    keys: Mapping[str, Hashable]
    values: Mapping[str, NDArray[Any]]
    options: SourceOptions

    def held_keys(self) -> tuple[Hashable, ...]:
        """Return those of persisted chunks; see `Partition.held_keys`."""
        return tuple(self.graph.persisted)

    def load(self) -> DataSet | MultiDataSet:
        """Compute the chunk in this thread; see `Partition.load`."""
        computed = self.graph.compute(self.keys.values())
        # The driver cannot know: only the chunks of a masked array are masked.
        columns = {
            column: np.asarray(without_mask(self.name, f"column {column!r}", values))
            for column, values in zip(self.keys, computed, strict=True)
        }
        columns.update(self.values)
        return examples_from_columns(columns.__getitem__, self.options, name=self.name)


def array_chunks(
    arrays: dict[str, Any],
    values: dict[str, NDArray[Any]],
    options: SourceOptions,
    *,
    name: str,
) -> tuple[ArrayChunk, ...]:
    """Cut dask arrays into partitions at the chunks of the first one.

    Parameters
    ----------
    arrays : dict of str to dask array of shape (rows, ...)
        At least one, by column. All are rechunked as the first is along axis 0; along
        the other axes examples are joined.
    values : dict of str to ndarray of shape (rows, ...)
        Columns in memory; cut at the same places.
    options : SourceOptions
    name : str
        What messages call the partitions; a number follows.

    Raises
    ------
    ShapeError
        If columns differ in their number of rows, or cannot be brought to the same
        chunks because dask does not know their sizes.
    """
    first_name, first = next(iter(arrays.items()))
    sizes: tuple[Any, ...] = first.chunks[0]
    is_known = not any(np.isnan(size) for size in sizes)
    aligned = {
        column: _aligned(array, sizes, f"{name}: {column} and {first_name}")
        for column, array in arrays.items()
    }
    _check_rows({**arrays, **values}, is_known=is_known, name=name)
    graphs = ChunkGraphs(aligned.values())
    optimised = dict(zip(aligned, graphs.collections, strict=True))
    stops = np.cumsum(sizes).tolist() if is_known else [None] * len(sizes)
    partitions = []
    for number, (size, stop) in enumerate(zip(sizes, stops, strict=True)):
        keys: dict[str, Hashable] = {
            column: (array.name, number, *[0] * (array.ndim - 1))
            for column, array in optimised.items()
        }
        partitions.append(
            ArrayChunk(
                f"{name} {number}",
                int(size) if is_known else None,
                graphs.of(keys.values()),
                keys,
                {column: array[stop - size : stop] for column, array in values.items()},
                options,
            )
        )
    return tuple(partitions)


def _pair_partitions(
    arrays: tuple[Any, ...], options: SourceOptions
) -> tuple[ArrayChunk, ...]:
    # A pair of arrays is features and labels.
    what = "dask arrays, which have no columns"
    refuse_given("DaskSources", what, options, COLUMN_OPTIONS)
    if len(arrays) == 1 and options.require_labels:
        raise DataError(
            "DaskSources: data must be a pair of features and labels, got features "
            "only. Pass require_labels=False for data without labels."
        )
    for array in arrays:
        if not array.ndim:
            raise ShapeError("DaskSources: arrays must have an axis of rows, got ().")
    columns = dict(zip(("features", "label"), arrays, strict=False))
    label = "label" if len(arrays) == 2 else None
    named = dataclasses.replace(options, features="features", label=label)
    lazy = {column: array for column, array in columns.items() if _is_array(array)}
    held = {
        column: np.asarray(without_mask("DaskSources", column, array))
        for column, array in columns.items()
        if column not in lazy
    }
    if held and any(np.isnan(array.shape[0]) for array in lazy.values()):
        raise ShapeError(
            f"DaskSources: {next(iter(lazy))} must know how many rows its chunks have "
            f"beside {next(iter(held))} in memory, dask does not. Call "
            "compute_chunk_sizes() on it."
        )
    return array_chunks(lazy, held, named, name="dask chunk")


def _aligned(array: Any, sizes: tuple[Any, ...], who: str) -> Any:
    whole = {axis: -1 for axis in range(1, array.ndim) if array.numblocks[axis] > 1}
    if whole:
        array = array.rechunk(whole)
    own = array.chunks[0]
    if np.array_equal(own, sizes, equal_nan=True):
        return array
    if np.isnan([*own, *sizes]).any():
        # Rows of chunks that dask has not counted can only be compared when computed.
        if len(own) == len(sizes):
            return array
        raise ShapeError(
            f"{who} must have the same number of chunks where dask does not know their "
            f"sizes, got {len(own)} and {len(sizes)}. Call compute_chunk_sizes() on "
            "both."
        )
    if sum(own) != sum(sizes):
        return array  # refused with both lengths by _check_rows
    return array.rechunk({0: sizes})


def _check_rows(columns: dict[str, Any], *, is_known: bool, name: str) -> None:
    if not is_known:
        return
    counts = {column: array.shape[0] for column, array in columns.items()}
    known = {count for count in counts.values() if not np.isnan(count)}
    if len(known) > 1:
        raise ShapeError(
            f"{name}: all columns must have the same number of rows, got {counts!r}."
        )


def _is_array(data: Any) -> bool:
    return is_of_dask(data) and hasattr(data, "numblocks")


def _is_pair(data: Any) -> bool:
    if not (isinstance(data, tuple) and len(data) == 2):
        return False
    are_lazy = [_is_array(one) for one in data]
    return any(are_lazy) and all(
        is_lazy or isinstance(one, np.ndarray)
        for one, is_lazy in zip(data, are_lazy, strict=True)
    )
