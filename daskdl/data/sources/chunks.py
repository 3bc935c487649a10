"""Partitions that carry the task graph of one chunk, and compute it where they load."""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from daskdl.data.columns import examples_from_columns
from daskdl.data.dataset import DataSet
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.data.sources.source import Partition, SourceOptions

__all__ = ["ArrayChunk", "ChunkGraphs"]


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
    """

    def __init__(self, collections: Iterable[Any]) -> None:
        import dask

        given = tuple(collections)
        graphs = [dict(one.__dask_graph__()) for one in given]
        # What a persisted collection holds. Optimising may leave it out of the graph.
        self._futures = {
            key: value
            for graph in graphs
            for key, value in graph.items()
            if _is_future(value)
        }
        self.collections: tuple[Any, ...] = dask.optimize(*given)
        self._graph: dict[Hashable, Any] = {}
        for one in self.collections:
            self._graph.update(one.__dask_graph__())

    def of(self, keys: Iterable[Hashable]) -> "ChunkGraph":
        """Return the part of the graph that the keys need."""
        from dask.optimization import cull

        wanted = list(keys)
        held = {key: self._futures[key] for key in wanted if key in self._futures}
        computed = [key for key in wanted if key not in held]
        graph, dependencies = cull(self._graph, computed)
        for needed in dependencies.values():
            held.update({k: self._futures[k] for k in needed if k in self._futures})
        tasks = {key: task for key, task in graph.items() if key not in held}
        return ChunkGraph(tasks, held)


@dataclass(frozen=True)
class ChunkGraph:
    """Tasks that compute some keys, and futures of what they start from."""

    tasks: dict[Hashable, Any]
    futures: dict[Hashable, Any] = field(default_factory=dict)

    def compute(self, keys: list[Hashable]) -> list[Any]:
        """Compute the keys in this thread, whatever scheduler is the default."""
        import dask

        held = {key: future.result() for key, future in self.futures.items()}
        wanted = [key for key in keys if key not in held]
        if wanted:
            results = dask.get({**self.tasks, **held}, wanted)
            held.update(zip(wanted, results, strict=True))
        return [held[key] for key in keys]


@dataclass(frozen=True)
class ArrayChunk(Partition):
    """One chunk of some dask arrays along their first axis.

    Parameters
    ----------
    name : str
        What messages call it.
    rows : int or None
        None where dask does not know the size of its chunks.
    graph : ChunkGraph
        What the chunk needs, and nothing of its neighbours.
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

    def load(self) -> DataSet | MultiDataSet:
        """Compute the chunk in this thread; see `Partition.load`."""
        computed = self.graph.compute(list(self.keys.values()))
        columns = dict(zip(self.keys, map(np.asarray, computed), strict=True))
        columns.update(self.values)
        return examples_from_columns(columns.__getitem__, self.options, name=self.name)


def _is_future(value: Any) -> bool:
    # Not by isinstance: distributed need not be installed, let alone imported.
    return type(value).__module__.startswith("distributed.") and hasattr(
        value, "result"
    )
