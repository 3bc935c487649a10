"""How many threads a pass may take here, and BLAS kept out of their way.

A user says it in many ways: ``OMP_NUM_THREADS`` and its relatives, `threadpoolctl`, a
set of cores that the process is bound to. BLAS has read all but the last two by the
time it is loaded and hears of `threadpoolctl`, so it is asked.
"""

import functools
import math
import os
import threading
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

# Share of the processors that a container may use, and the time it is a share of.
_QUOTA = Path("/sys/fs/cgroup/cpu.max")


def threads_here() -> int:
    """Return how many threads this process may use: at most one a core.

    Returns
    -------
    int
        As many as BLAS has, but not more than the cores that the process is bound to,
        and than the share of the processors that its container has.
    """
    return max(1, int(min(_blas.n_threads, _cores(), _quota())))


def one_blas_thread() -> AbstractContextManager[None]:
    """Let BLAS work in the thread that calls it, until the end of a ``with`` block.

    Threads that call it at one time would otherwise wait for each other's turn with
    the same helpers.
    """
    return _blas.one_thread()


class _Blas:
    """The number of threads of BLAS, of which there is one for the whole process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holders = 0
        self._before: list[int] = []

    @property
    def n_threads(self) -> int:
        """How many it may use, where nobody keeps it to one."""
        with self._lock:
            found = self._before if self._holders else self._found()
        return min(found, default=_cores())

    @contextmanager
    def one_thread(self) -> Generator[None, None, None]:
        """Keep it to one, until the last block of those that run at one time ends."""
        libraries = _libraries()
        with self._lock:
            if not self._holders:
                self._before = self._found()
                for library in libraries:
                    library.set_num_threads(1)
            self._holders += 1
        try:
            yield
        finally:
            with self._lock:
                self._holders -= 1
                if not self._holders:
                    for library, n in zip(libraries, self._before, strict=True):
                        library.set_num_threads(n)

    def _found(self) -> list[int]:
        return [library.get_num_threads() for library in _libraries()]


# Of the process, as what it guards: networks that are trained at one time in several
# threads of a user must not take each other's 1 for what was there before.
_blas = _Blas()


@functools.cache
def _libraries() -> list[Any]:
    # What is not loaded yet would not be found.
    import numpy.linalg  # noqa: F401

    # Imported late: it takes as long as a dozen small iterations.
    from threadpoolctl import ThreadpoolController

    controllers = ThreadpoolController().select(user_api="blas")
    found: list[Any] = controllers.lib_controllers
    return found


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
