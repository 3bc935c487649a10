"""Graphs of dask collections, cut into those of single chunks."""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any

from daskdl.data.sources.persisted import PersistedValue, is_future

__all__ = ["ChunkGraph", "ChunkGraphs", "is_of_dask"]


@dataclass(frozen=True, eq=False)
class ChunkGraph:
    """What one chunk needs, and nothing of its neighbours; picklable.

    Parameters
    ----------
    tasks : dict
        Those that compute it.
    persisted : dict of key to PersistedValue
        What is in the memory of workers already.
    """

    tasks: dict[Hashable, Any]
    persisted: dict[Hashable, PersistedValue] = field(default_factory=dict)

    def compute(self, keys: Iterable[Hashable]) -> list[Any]:
        """Compute keys in this thread, whatever scheduler is the default."""
        import dask
        from dask.core import quote

        there = {key: quote(one.load()) for key, one in self.persisted.items()}
        return list(dask.get({**self.tasks, **there}, list(keys)))


class ChunkGraphs:
    """The graphs of dask collections, cut into those of single chunks.

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
        # Before optimising, which may leave futures out of the graph.
        self._persisted: dict[Hashable, PersistedValue] = {
            key: PersistedValue(key, value)
            for one in given
            for key, value in dict(one.__dask_graph__()).items()
            if is_future(value)
        }
        # What dask.optimize makes of a frame lacks its filters, in dask 2026.8.
        self.collections: tuple[Any, ...] = (
            tuple(one.optimize() for one in given)
            if all(hasattr(one, "optimize") for one in given)
            else dask.optimize(*given)
        )
        self._graph: dict[Hashable, Any] = {}
        for one in self.collections:
            self._graph.update(one.__dask_graph__())
        self._graph.update(dict.fromkeys(self._persisted))

    def of(self, keys: Iterable[Hashable]) -> ChunkGraph:
        """Return the part of the graph that the keys need."""
        from dask.optimization import cull

        graph: dict[Hashable, Any] = cull(self._graph, list(keys))[0]
        held = {key: one for key, one in self._persisted.items() if key in graph}
        return ChunkGraph({k: v for k, v in graph.items() if k not in held}, held)

    def compute_there(self, key: Hashable) -> Any:
        """Compute a key where its data lie, and bring the value here.

        That is on the cluster that holds what is persisted, else by the scheduler that
        dask is told to use, else in this thread.
        """
        import dask
        from dask.base import get_scheduler

        graph = self.of([key])
        futures = {held: one.future for held, one in graph.persisted.items()}
        clients = [future.client for future in futures.values()]
        get = clients[0].get if clients else get_scheduler() or dask.get
        (value,) = get({**graph.tasks, **futures}, [key])
        return value


def is_of_dask(data: Any) -> bool:
    """Say whether the data is a collection of dask."""
    # Before dask-expr moved in, its frames came from a package of that name.
    return type(data).__module__.partition(".")[0] in ("dask", "dask_expr")
