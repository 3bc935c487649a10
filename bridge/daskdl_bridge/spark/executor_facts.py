"""What Spark's executors tell of themselves; travels to them by value.

They need pyarrow for it, and nothing of this package.
"""

import importlib.metadata
import os
import platform
import socket
import time
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

__all__ = ["FACTS", "MARKS", "directory_mark", "facts", "marks_of"]

FACTS = "host string, python string, numpy string, daskdl string, time_s double"
MARKS = "host string, inode long, changed_s long"


def facts(batches: Any) -> Iterator[pa.RecordBatch]:
    """Yield versions and the clock, as `FACTS` says; for ``mapInArrow``."""
    for _ in batches:
        yield pa.RecordBatch.from_pydict(
            {
                "host": [socket.gethostname()],
                "python": [platform.python_version()],
                "numpy": [_version_of("numpy")],
                "daskdl": [_version_of("daskdl")],
                "time_s": [time.time()],
            }
        )


def marks_of(path: str) -> Callable[[Any], Iterator[pa.RecordBatch]]:
    """Return a function for ``mapInArrow`` that yields `directory_mark`, as `MARKS`."""

    def look(batches: Any) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            host, inode, changed_s = directory_mark(path)
            yield pa.RecordBatch.from_pydict(
                {"host": [host], "inode": [inode], "changed_s": [changed_s]}
            )

    return look


def directory_mark(path: str) -> tuple[str, int, int]:
    """Return what tells a directory from others, without writing to it.

    Returns
    -------
    host : str
        Who looked.
    inode, changed_s : int
        Its number and the time of its last change, which are the same wherever a
        directory is mounted; both 0 if it is none, or not one to write to.
    """
    host = socket.gethostname()
    if not os.path.isdir(path) or not os.access(path, os.W_OK):
        return host, 0, 0
    found = os.stat(path)
    return host, found.st_ino, int(found.st_mtime)


def _version_of(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""
