"""How many threads a pass may take here, and BLAS kept out of their way.

A user says it in many ways: ``OMP_NUM_THREADS`` and its relatives, `threadpoolctl`, a
set of cores that the process is bound to. BLAS has read all but the last two by the
time it is loaded and hears of `threadpoolctl`, so it is asked.
"""

import functools
import itertools
import math
import os
import threading
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from daskdl.arrays.held_limit import HeldLimit

# Share of the processors that a container may use, and the time it is a share of.
_QUOTA = Path("/sys/fs/cgroup/cpu.max")

_of_thread = threading.local()


def threads_here() -> int:
    """Return how many threads this process may use: at most one a core.

    Returns
    -------
    int
        As many as BLAS has, but not more than the cores that the process is bound to,
        and than the share of the processors that its container has. One less inside of
        :func:`leaving_one_core`.
    """
    left = 1 if getattr(_of_thread, "leaves_one_core", False) else 0
    return max(1, int(min([*_blas.free, _cores(), _quota()])) - left)


@contextmanager
def leaving_one_core() -> Generator[None, None, None]:
    """Let passes of the calling thread leave a core to others, until a block ends.

    For a thread that computes for other threads of its process, which have work, too.
    """
    before = getattr(_of_thread, "leaves_one_core", False)
    _of_thread.leaves_one_core = True
    try:
        yield
    finally:
        _of_thread.leaves_one_core = before


def blas_limited_to(threads: int) -> AbstractContextManager[None]:
    """Let BLAS have no more threads than this, until the end of a ``with`` block.

    It never gets more than it has. With one it works in the thread that calls it:
    several that call it at one time would otherwise wait for each other's turn with the
    same helpers.
    """
    return _blas.holding(threads)


def blas_given(threads: int) -> AbstractContextManager[None]:
    """Let BLAS have as many threads as this, until the end of a ``with`` block.

    More than it has, too: Dask starts workers with one, however many tasks they take.
    """
    return _blas.giving(threads)


def _blas_threads() -> list[int]:
    return [library.get_num_threads() for library in _libraries()]


def _set_blas_threads(numbers: list[int]) -> None:
    for write, n in zip(_setters(), numbers, strict=True):
        write(n)


# Of the process, as what it guards: networks that are trained at one time in several
# threads of a user must not take each other's 1 for what was there before.
_blas = HeldLimit(_blas_threads, _set_blas_threads)


@functools.cache
def _libraries() -> list[Any]:
    # What is not loaded yet would not be found.
    import numpy.linalg  # noqa: F401

    # Imported late: it takes as long as a dozen small iterations.
    from threadpoolctl import ThreadpoolController

    controllers = ThreadpoolController().select(user_api="blas")
    found: list[Any] = controllers.lib_controllers
    return found


@functools.cache
def _setters() -> list[Callable[[int], object]]:
    return [_setter_of(library) for library in _libraries()]


def _setter_of(library: Any) -> Callable[[int], object]:
    """Return what tells a BLAS its number of threads, from any thread.

    Since 3.8 threadpoolctl does nothing, without a word, where the threads of OpenBLAS
    are the process's own and another thread has told their number first: two networks
    in two threads then had all cores each. Here :class:`HeldLimit` keeps them apart.
    """
    if getattr(library, "threading_layer", None) == "pthreads":
        for prefix, suffix in itertools.product(("", "scipy_"), ("", "64_", "_64")):
            name = f"{prefix}openblas_set_num_threads{suffix}"
            if found := getattr(library.dynlib, name, None):
                own: Callable[[int], object] = found
                return own
    write: Callable[[int], object] = library.set_num_threads
    return write


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@functools.cache
def _quota() -> float:
    """Return how many processors' time the container may take; part of one is one."""
    try:
        limit, period = _QUOTA.read_text().split()
        return math.ceil(int(limit) / int(period))
    except (OSError, ValueError):
        return math.inf
