"""A process that has imported what workers need, before there are workers.

Each worker of a local cluster would import Dask, daskdl and pyarrow anew, at the same
time, which takes longer than all else at the start of a job. A server that has done it
once forks them in milliseconds; it imports while the command still reads its job. It
is the standard library's ``forkserver``, which Dask can start its workers by.

Nothing but imports happens in the server: it has one thread, so that what it forks has
no lock that nobody will open (see design 0033). This module imports no Dask: it is to
run first.
"""

import contextlib
import os
import signal
import sys
from collections.abc import Iterator, Mapping
from multiprocessing import forkserver, resource_tracker
from typing import Any

from daskdl.arrays.blas import kernel_choice

__all__ = [
    "are_ready",
    "begin",
    "end",
    "interrupts_blocked",
    "server_environment",
    "worker_environment",
]

_IMPORTED = ["daskdl.cluster.worker_imports"]
# The one of this process.
_server: Any = forkserver._forkserver


def worker_environment() -> dict[str, str]:
    """Return what we put into the environment of a worker before it begins."""
    # One process a core: more threads in BLAS would only fight for the cores.
    one_thread = dict.fromkeys(
        ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"
    )
    return {**one_thread, **kernel_choice()}


def server_environment() -> dict[str, str]:
    """Return the environment in which the server begins: Dask's own words, and ours."""
    # The seed is that of all workers of Dask, so that they find the same hashes.
    dasks = {"MALLOC_TRIM_THRESHOLD_": "65536", "PYTHONHASHSEED": "6640"}
    return {**dasks, **worker_environment()}


def begin() -> None:
    """Start the server, where processes can be forked and this one has none yet."""
    # Elsewhere libraries of the system do not survive a fork.
    if sys.platform != "linux" or _server._forkserver_pid is not None:
        return
    forkserver.set_forkserver_preload(_IMPORTED)
    with interrupts_blocked(), _in_environment(server_environment()):
        forkserver.ensure_running()


def are_ready() -> bool:
    """Return whether the server of this process is the one that :func:`begin` began."""
    return _server._forkserver_pid is not None and _server._preload_modules == _IMPORTED


def end() -> None:
    """End the server, if it runs, without waiting for its imports.

    It looks for its command's end only when it has imported everything, and whoever
    reads the command's stderr would wait for it.
    """
    if not are_ready():
        return
    with contextlib.suppress(ProcessLookupError):
        os.kill(_server._forkserver_pid, signal.SIGKILL)
    _server._stop()


@contextlib.contextmanager
def interrupts_blocked() -> Iterator[None]:
    """Start processes and threads that a Ctrl-C at the terminal does not reach.

    A blocked signal is inherited by threads and by what they start; one that comes
    meanwhile is delivered to this thread when the block ends.
    """
    # Started with the first process otherwise, and that thread's mask is then undone.
    resource_tracker.ensure_running()
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def _in_environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Add variables; what the user has set stays, as Dask has it."""
    added = variables.keys() - os.environ.keys()
    os.environ.update({name: variables[name] for name in added})
    try:
        yield
    finally:
        for name in added:
            del os.environ[name]
