"""A process that imports what a worker needs, and waits to become one.

The other side of :mod:`daskdl.cluster.ready_processes`.
"""

import contextlib
import gc
import importlib
import json
import os
import socket
import sys
from multiprocessing import spawn

from daskdl.entry_points import entry_points

__all__ = ["SentFile", "wait_for_work"]

_MOST_BYTES, _MOST_FILES = 1 << 16, 64  # of one message
_MODULES = (
    "distributed",
    # What a Worker imports when it starts.
    "distributed.http.health",
    "distributed.http.prometheus",
    "distributed.http.statics",
    "distributed.http.worker",
    "daskdl.cluster.bus.worker_plugin",
    "daskdl.cluster.inference",
    "daskdl.cluster.local_worker",
    "daskdl.cluster.mailbox",
    "daskdl.cluster.session",
    "daskdl.evaluation.calibration",
    "daskdl.evaluation.roc_multi_class",
    "fsspec.implementations.local",
    "pyarrow.parquet",
)
# What reads and writes data is known by entry point only.
_GROUPS = ("daskdl.sources", "daskdl.sinks")

_files: list[int] = []


class SentFile:
    """Stands in a pickle for an open file that was sent beside it."""

    def __init__(self, number: int) -> None:
        self._number = number

    def detach(self) -> int:
        """Return its number in this process."""
        return _files[self._number]


def wait_for_work(number: int) -> None:
    """Import, wait for work at a socket, and do it as a spawned process would.

    Parameters
    ----------
    number : int
        Of the open socket. When it is closed at the other end there is no work.
    """
    with socket.socket(fileno=number) as given:
        _import_all()
        said, files, _, _ = socket.recv_fds(given, _MOST_BYTES, _MOST_FILES)
        if not said:
            os._exit(0)
        while not said.endswith(b"\n"):
            said += given.recv(_MOST_BYTES)
    _files.extend(files)
    # What came into the command's environment since this process began.
    os.environ.update(json.loads(said))
    # The first is the tracker's, the last the work; the one before it stays open until
    # this process ends, which is how the other side learns of that.
    sys.argv[1:] = ["--multiprocessing-fork"]
    spawn.spawn_main(pipe_handle=files[-1], tracker_fd=files[0])


def _import_all() -> None:
    # What cannot be imported is told where it is needed.
    gc.disable()
    with contextlib.suppress(Exception):
        for name in _MODULES:
            importlib.import_module(name)
        for group in _GROUPS:
            for point in entry_points(group):
                point.load()
    gc.enable()
    # Nobody need look through what was imported again.
    gc.freeze()
