"""Work on a CUDA device that is captured in a graph, and replayed.

A launch from Python takes longer than most kernels run. A graph of CUDA launches all of
a pass at once, on the same memory each time.
"""

import logging
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, TypeAlias

from daskdl.arrays.workspace import Workspace

logger = logging.getLogger(__name__)

Given: TypeAlias = Sequence[Any]
"""Arrays of CuPy, or None for what is missing."""

# A run compiles and tries algorithms, the next one finds all buffers as large as they
# get, and the third is captured.
_RUNS_BEFORE = 2
# Graphs of one network: data of ever new shapes are not worth a graph each.
_MOST_GRAPHS = 8
# Only this thread may be in its way: cudaStreamCaptureModeThreadLocal.
_THREAD_LOCAL = 1


class Replays:
    """A function of arrays, replayed for arrays of shapes that were seen before.

    Parameters
    ----------
    cupy : module
    work : function of a sequence of arrays
        Returns an array, or a number. Must launch the same each time, but for the
        contents of the arrays it gets and of memory that stays.
    workspace : Workspace
        What it takes memory from; a graph keeps that alive.

    Notes
    -----
    CuPy refuses copies from the host and to it while a graph is captured, so that work
    that reads numbers of the device, or brings new ones, cannot be captured by mistake.
    Then it goes on as it is, launch by launch.
    """

    def __init__(
        self, cupy: ModuleType, work: Callable[[Given], Any], workspace: Workspace
    ) -> None:
        self._cupy, self._work, self._workspace = cupy, work, workspace
        self._n_runs: dict[Any, int] = {}
        self._last: dict[Any, Given] = {}
        self._graphs: dict[Any, _Graph | None] = {}
        self._pool: Any = None

    def run(self, given: Given) -> Any:
        """Do the work.

        Parameters
        ----------
        given : sequence of ndarray of CuPy, or None
            Copied where the work is replayed, unless they are the very same each time.

        Returns
        -------
        ndarray or float
            What the work returns; overwritten by the next call for the same shapes.
        """
        shapes = tuple(None if x is None else (x.shape, x.dtype) for x in given)
        if shapes not in self._graphs:
            n_runs = self._n_runs.get(shapes, 0)
            if n_runs < _RUNS_BEFORE or len(self._graphs) >= _MOST_GRAPHS:
                self._n_runs[shapes], self._last[shapes] = n_runs + 1, given
                return self._work(given)
            self._graphs[shapes] = self._captured(given, self._last.pop(shapes))
        graph = self._graphs[shapes]
        return self._work(given) if graph is None else graph.replay(given)

    def _captured(self, given: Given, before: Given) -> "_Graph | None":
        """Return a graph of the work; None where it cannot be captured.

        Arrays that are those of the run before stay where they are.
        """
        cupy = self._cupy
        if self._pool is None:
            self._pool = cupy.cuda.MemoryPool()
        cupy.cuda.get_current_stream().synchronize()
        stream = cupy.cuda.Stream(non_blocking=True)
        try:
            with stream, cupy.cuda.using_allocator(self._pool.malloc):
                kept = [
                    new if new is old else new.copy()
                    for new, old in zip(given, before, strict=True)
                ]
                # Once more, so that the pool has what the capture will ask it for.
                self._work(kept)
                stream.synchronize()
                stream.begin_capture(_THREAD_LOCAL)
                try:
                    result = self._work(kept)
                except BaseException:
                    _give_up(stream)
                    raise
                graph = stream.end_capture()
        except (RuntimeError, MemoryError) as error:
            logger.debug("Not captured in a CUDA graph: %s", error)
            return None
        # What the runs before have left there is not asked for again.
        cupy.get_default_memory_pool().free_all_blocks()
        return _Graph(graph, kept, result, self._workspace.held())


class _Graph:
    """A captured pass, and the memory that it works on."""

    def __init__(self, graph: Any, given: Given, result: Any, memory: Any) -> None:
        self._graph, self._given, self._result = graph, given, result
        self._memory = memory

    def replay(self, given: Given) -> Any:
        for kept, new in zip(self._given, given, strict=True):
            if kept is not new:
                kept[...] = new
        self._graph.launch()
        return self._result


def _give_up(stream: Any) -> None:
    """End a capture that went wrong: the stream is of no use until then."""
    try:
        stream.end_capture()
    except RuntimeError as error:
        logger.debug("A capture that was given up: %s", error)
