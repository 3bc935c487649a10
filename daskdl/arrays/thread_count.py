"""How many threads a pass may take here, and BLAS kept out of their way.

A user says it in many ways: ``OMP_NUM_THREADS`` and its relatives, `threadpoolctl`, a
set of cores that the process is bound to. BLAS has read all but the last two by the
time it is loaded and hears of `threadpoolctl`, so it is asked.
"""

import functools
import math
import os
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from daskdl.arrays.held_limit import HeldLimit

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
    return max(1, int(min([*_blas.free, _cores(), _quota()])))


def blas_limited_to(threads: int) -> AbstractContextManager[None]:
    """Let BLAS have no more threads than this, until the end of a ``with`` block.

    It never gets more than it has. With one it works in the thread that calls it:
    several that call it at one time would otherwise wait for each other's turn with the
    same helpers.
    """
    return _blas.holding(threads)


def _blas_threads() -> list[int]:
    return [library.get_num_threads() for library in _libraries()]


def _set_blas_threads(numbers: list[int]) -> None:
    for library, n in zip(_libraries(), numbers, strict=True):
        library.set_num_threads(n)


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
