"""Processes that import what workers need while the command still looks at its data.

A worker of a local cluster is a process of its own, which spends a second on imports
before it does anything. Here such processes are begun as soon as it is known how many
there will be, and wait; Dask's nannies then take them in place of new ones. They are no
workers before that, and end with the block that began them, or with its process.

A process that waits cannot have inherited what Dask opens later. So the open files of a
spawn are sent to it, as :mod:`multiprocessing` itself sends them to a fork server. All
else is as in a spawn: each is a child of the command, and dies alone (see design 0033).

This module imports no Dask: it is to run first.
"""

import contextlib
import io
import json
import os
import signal
import socket
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from multiprocessing import (
    context,
    popen_spawn_posix,
    reduction,
    resource_tracker,
    spawn,
    util,
)
from typing import Any

from daskdl.arrays.blas import kernel_choice
from daskdl.cluster.ready_worker import SentFile

__all__ = ["processes_ready", "ready_processes_first", "worker_environment"]

# What Dask puts into the environment of a worker: in place of nothing, and always,
# since workers must agree on hashes.
_DASKS = {"MALLOC_TRIM_THRESHOLD_": "65536"}
_DASKS_ALWAYS = {"PYTHONHASHSEED": "6640"}
_CAN_SEND_FILES = hasattr(os, "posix_spawn") and hasattr(socket, "send_fds")

_CODE = (
    "import sys; sys.path[:] = {path!r}; "
    "from daskdl.cluster.ready_worker import wait_for_work; wait_for_work({number})"
)


@dataclass(frozen=True)
class _Ready:
    """A process that waits, our end of its socket, and the environment it has."""

    pid: int
    ours: socket.socket
    environment: Mapping[str, str]

    def has(self, variables: frozenset[str]) -> bool:
        """Return whether it began with these variables, and nothing it has changed."""
        its = self.environment
        return variables <= its.keys() and its.items() <= os.environ.items()

    def end(self) -> None:
        self.ours.close()
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, 0)


# A deque, since nannies start their processes in threads.
_waiting: deque[_Ready] = deque()


def worker_environment() -> dict[str, str]:
    """Return what we put into the environment of a worker before it begins."""
    # One process a core: more threads in BLAS would only fight for the cores.
    one_thread = dict.fromkeys(
        ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"
    )
    return {**one_thread, **kernel_choice()}


@contextlib.contextmanager
def processes_ready(scheduler: str | None, workers: int | None) -> Iterator[None]:
    """Have processes wait during the block, for a local cluster to take.

    Parameters
    ----------
    scheduler : str or None
        Of a cluster that runs already; then none are needed.
    workers : int or None
        How many there will be, ``None`` one a core.
    """
    try:
        if scheduler is None and _CAN_SEND_FILES:
            for _ in range(_one_a_core() if workers is None else workers):
                _waiting.append(_begun())
        yield
    finally:
        while _waiting:
            _waiting.pop().end()


@contextlib.contextmanager
def ready_processes_first(variables: Iterable[str]) -> Iterator[None]:
    """Spawn processes in the block by giving their work to those that wait.

    Parameters
    ----------
    variables : iterable of str
        Of the environment, which must be set when a process begins. One that began
        without them is not taken, nor is one for which anything has changed since;
        where none is left a new one is spawned.
    """
    if not _waiting:
        yield
        return
    process: Any = context.SpawnProcess
    before = process._Popen
    process._Popen = staticmethod(partial(_taken_or_spawned, frozenset(variables)))
    try:
        yield
    finally:
        process._Popen = staticmethod(before)


def _one_a_core() -> int:
    from dask.system import CPU_COUNT

    return int(CPU_COUNT)


def _begun() -> _Ready:
    environment = {**_DASKS, **worker_environment(), **os.environ, **_DASKS_ALWAYS}
    ours, theirs = socket.socketpair()
    with theirs:
        theirs.set_inheritable(True)
        executable = os.fsdecode(spawn.get_executable())
        code = _CODE.format(path=sys.path, number=theirs.fileno())
        flags = util._args_from_interpreter_flags()  # type: ignore[attr-defined]
        pid = os.posix_spawn(
            executable,
            [executable, *flags, "-c", code],
            environment,
            # A Ctrl-C at the terminal is for the command, which ends its workers.
            setsigmask=[signal.SIGINT],
        )
    return _Ready(pid, ours, environment)


def _taken_or_spawned(
    variables: frozenset[str], process: Any
) -> popen_spawn_posix.Popen:
    # Until it is empty, which another thread may see first.
    with contextlib.suppress(IndexError):
        while True:
            ready = _waiting.popleft()
            if ready.has(variables):
                with contextlib.suppress(OSError):
                    return _Taken(process, ready)
            ready.end()
    return popen_spawn_posix.Popen(process)


class _Taken(popen_spawn_posix.Popen):
    """What :mod:`multiprocessing` holds of a process that it took instead of spawning.

    Parameters
    ----------
    process : multiprocessing.Process
        What is to run there.
    ready : _Ready

    Raises
    ------
    OSError
        If the process has ended.
    """

    DupFd = SentFile  # type: ignore[assignment]
    _fds: list[int]

    def __init__(self, process: Any, ready: _Ready) -> None:
        self._ready = ready
        super().__init__(process)

    def duplicate_for_child(self, fd: int) -> int:
        """Return which of the files that are sent it will be."""
        self._fds.append(fd)
        return len(self._fds) - 1

    def _launch(self, process: Any) -> None:
        tracker: Any = resource_tracker.getfd()
        self._fds.append(tracker)
        work = self._pickled(process)
        self.sentinel, their_end = os.pipe()
        their_work, our_work = os.pipe()
        # Open until then: each side learns by it that the other has ended.
        ours = (self.sentinel, our_work)
        self.finalizer = util.Finalize(self, _close_all, ours)
        # Behind those that the process itself asked for.
        self._fds += [their_end, their_work]
        since = dict(os.environ.items() - self._ready.environment.items())
        said = json.dumps(since).encode() + b"\n"
        try:
            socket.send_fds(self._ready.ours, [said], self._fds)
        finally:
            _close_all(their_end, their_work)
        self._ready.ours.close()
        self.pid = self._ready.pid
        # One that is killed by now is told of as any that is killed.
        with (
            contextlib.suppress(BrokenPipeError),
            os.fdopen(our_work, "wb", closefd=False) as stream,
        ):
            stream.write(work)

    def _pickled(self, process: Any) -> bytes:
        stream = io.BytesIO()
        context.set_spawning_popen(self)
        try:
            reduction.dump(spawn.get_preparation_data(process.name), stream)
            reduction.dump(process, stream)
        finally:
            context.set_spawning_popen(None)
        return stream.getvalue()


def _close_all(*files: int) -> None:
    for file in files:
        os.close(file)
