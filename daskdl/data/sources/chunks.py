"""Partitions that carry the task graph of one chunk, and compute it where they load."""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from daskdl.data.columns import examples_from_columns
from daskdl.data.dataset import DataSet
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.data.sources.source import Partition, SourceOptions
from daskdl.errors import DataError

__all__ = ["ArrayChunk", "ChunkGraphs", "compute_keys"]


class ChunkGraphs:
    """The graphs of some dask collections, cut into what each chunk needs.

    Parameters
    ----------
    collections : iterable of dask collection
        Optimised together, so that what they share is kept once.

    Attributes
    ----------
    collections : tuple of dask collection
        The optimised ones; their keys are those to ask for.

    Raises
    ------
    DataError
        If a collection was persisted on a cluster: its chunks are then futures, which
        only a task that depends on them can read.
    """

    def __init__(self, collections: Iterable[Any]) -> None:
        import dask

        given = tuple(collections)
        for one in given:
            # Before optimising, which may leave futures out of the graph.
            if any(map(_is_future, dict(one.__dask_graph__()).values())):
                raise DataError(
                    "DaskSources: collections must hold the tasks that compute them, "
                    "got one that was persisted on a cluster. Pass it as it was before "
                    "persist(); chunks that were loaded are kept anyway."
                )
        self.collections: tuple[Any, ...] = dask.optimize(*given)
        self._graph: dict[Hashable, Any] = {}
        for one in self.collections:
            self._graph.update(one.__dask_graph__())

    def of(self, keys: Iterable[Hashable]) -> dict[Hashable, Any]:
        """Return the part of the graph that the keys need."""
        from dask.optimization import cull

        graph: dict[Hashable, Any] = cull(self._graph, list(keys))[0]
        return dict(graph)


def compute_keys(graph: dict[Hashable, Any], keys: Iterable[Hashable]) -> list[Any]:
    """Compute keys of a graph in this thread, whatever scheduler is the default."""
    import dask

    return list(dask.get(graph, list(keys)))


@dataclass(frozen=True)
class ArrayChunk(Partition):
    """One chunk of some dask arrays along their first axis.

    Parameters
    ----------
    name : str
        What messages call it.
    rows : int or None
        None where dask does not know the size of its chunks.
    graph : dict
        What the chunk needs, and nothing of its neighbours.
    keys : mapping of str to key
        Column to the task that computes it.
    values : mapping of str to ndarray of shape (rows, ...)
        Columns that are no dask arrays.
    options : SourceOptions
    """

    name: str
    rows: int | None
    graph: dict[Hashable, Any]
    keys: Mapping[str, Hashable]
    values: Mapping[str, NDArray[Any]]
    options: SourceOptions

    def load(self) -> DataSet | MultiDataSet:
        """Compute the chunk in this thread; see `Partition.load`."""
        computed = compute_keys(self.graph, self.keys.values())
        columns = dict(zip(self.keys, map(np.asarray, computed), strict=True))
        columns.update(self.values)
        return examples_from_columns(columns.__getitem__, self.options, name=self.name)


def _is_future(value: Any) -> bool:
    # Not by isinstance: distributed need not be installed, let alone imported.
    return type(value).__module__.startswith("distributed.") and hasattr(
        value, "result"
    )
