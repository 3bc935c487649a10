"""The calls of hdfs-native's client with time limits, errors by kind, fresh tickets.

hdfs-native waits for ever when a server accepts and never answers. In a child forked
after the first use every call hangs. And it raises ``RuntimeError`` with a Java trace
for most of what can go wrong.
"""

import io
import os
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from hdfs_native import WriteOptions

from daskdl_bridge.errors import StorageCredentialsError, StorageError
from daskdl_bridge.hdfs_errors import translated
from daskdl_bridge.read_ahead import Fetch, ReadAhead
from daskdl_bridge.time_limits import answer_within, begin

__all__ = ["call_hdfs", "refuse_after_fork"]

T = TypeVar("T")

# Whoever reads a few bytes at a time takes them from here.
_READ_BUFFER_BYTES = 64 << 10


class GuardedClient:
    """The calls of ``hdfs_native.Client`` that its fsspec class makes, guarded.

    Parameters
    ----------
    make : callable
        Makes an ``hdfs_native.Client``, which does the work; called once more for each
        call that is refused for want of a valid ticket.
    root : str
        URL without a path, for messages.
    timeout_s : float
        Limit of each call in seconds.
    """

    def __init__(self, make: Callable[[], Any], root: str, timeout_s: float) -> None:
        self._make = make
        self._inner = make()
        self._root = root
        self._timeout_s = timeout_s

    def get_file_info(self, path: str) -> Any:
        return self._call("look up", path, lambda: self._inner.get_file_info(path))

    def list_status(self, path: str, recursive: bool = False) -> Any:
        return self._call(
            "list", path, lambda: list(self._inner.list_status(path, recursive))
        )

    def get_content_summary(self, path: str) -> Any:
        return self._call(
            "measure", path, lambda: self._inner.get_content_summary(path)
        )

    def mkdirs(self, path: str, permission: int = 0o755, parents: bool = False) -> Any:
        return self._call(
            "make directory",
            path,
            lambda: self._inner.mkdirs(path, permission, parents),
        )

    def rename(self, source: str, target: str, overwrite: bool = False) -> Any:
        return self._call(
            "rename", source, lambda: self._inner.rename(source, target, overwrite)
        )

    def delete(self, path: str, recursive: bool = False) -> Any:
        return self._call("delete", path, lambda: self._inner.delete(path, recursive))

    def set_times(self, path: str, modified: int, accessed: int) -> Any:
        return self._call(
            "touch", path, lambda: self._inner.set_times(path, modified, accessed)
        )

    def read(self, path: str) -> io.BufferedReader:
        inner = self._call("open", path, lambda: self._inner.read(path))
        fetch = guarded_fetch(inner, self._root + path, self._timeout_s)
        return io.BufferedReader(ReadAhead(fetch, len(inner)), _READ_BUFFER_BYTES)

    def create(
        self, path: str, write_options: WriteOptions | None = None
    ) -> "GuardedWriter":
        inner = self._call(
            "create", path, lambda: self._inner.create(path, write_options)
        )
        return GuardedWriter(inner, self._root + path, self._timeout_s)

    def append(self, path: str) -> "GuardedWriter":
        inner = self._call("append to", path, lambda: self._inner.append(path))
        return GuardedWriter(inner, self._root + path, self._timeout_s)

    def _call(self, action: str, path: str, function: Callable[[], T]) -> T:
        url = self._root + path
        try:
            return call_hdfs(self._timeout_s, action, url, function)
        except StorageCredentialsError:
            # A ticket may end between its being looked at and its being shown.
            self._inner = self._make()
            return call_hdfs(self._timeout_s, action, url, function)


class GuardedWriter(io.RawIOBase):
    """A file of HDFS open for writing; each write and the close have a time limit."""

    def __init__(self, inner: Any, url: str, timeout_s: float) -> None:
        super().__init__()
        self._inner = inner
        self._url = url
        self._timeout_s = timeout_s
        self._is_broken = False

    def writable(self) -> bool:
        return True

    def write(self, buffer: Any) -> int:
        data = bytes(buffer)
        self._try("write", lambda: self._inner.write(data))
        return len(data)

    def close(self) -> None:
        if self.closed:
            return
        try:
            # Closing after an error raises once more and would hide the first error.
            if not self._is_broken:
                self._try("close", self._inner.close)
        finally:
            super().close()
            if isinstance(self._inner, io.RawIOBase):
                # It does not note that it is closed: its finalizer would try again,
                # for any length of time, and tell why it could not.
                io.RawIOBase.close(self._inner)

    def _try(self, action: str, function: Callable[[], T]) -> T:
        try:
            return call_hdfs(self._timeout_s, action, self._url, function)
        except OSError:
            self._is_broken = True
            raise


def guarded_fetch(inner: Any, url: str, timeout_s: float) -> Fetch:
    """Return what fetches bytes of an open file; waiting for them has a time limit.

    Parameters
    ----------
    inner : hdfs_native.FileReader
    url : str
        For messages.
    timeout_s : float
        Limit of each piece in seconds.
    """

    def fetch(offset: int, n_bytes: int) -> Callable[[], bytes]:
        refuse_after_fork(url)
        begun = begin("read", url, lambda: bytes(inner.read_range(offset, n_bytes)))
        return lambda: answer_of_hdfs(timeout_s, "read", url, begun)

    return fetch


# The one piece of state that must belong to the process: it is compared after a fork.
_pids_of_first_use: list[int] = []


def refuse_after_fork(url: str) -> None:
    """Refuse HDFS in a child forked after its parent used HDFS: every call hangs there.

    Raises
    ------
    StorageError
        In such a child.
    """
    if not _pids_of_first_use:
        _pids_of_first_use.append(os.getpid())
    if _pids_of_first_use[0] != os.getpid():
        raise StorageError(
            f"{url}: HDFS cannot be used in process {os.getpid()}, which was forked "
            f"after process {_pids_of_first_use[0]} had used it. Start processes with "
            "'spawn' or 'forkserver'."
        )


def call_hdfs(timeout_s: float, action: str, url: str, function: Callable[[], T]) -> T:
    """Call a function of hdfs-native within a time limit.

    Parameters
    ----------
    timeout_s, action, url, function
        See :func:`daskdl_bridge.time_limits.call_within`.

    Raises
    ------
    StorageTimeoutError
        If the function did not return in time.
    StorageError, PermissionError, FileExistsError, SourceNotFoundError
        What the function's own error means.
    """
    refuse_after_fork(url)
    return answer_of_hdfs(timeout_s, action, url, begin(action, url, function))


def answer_of_hdfs(timeout_s: float, action: str, url: str, begun: "Future[T]") -> T:
    """Return what a call that was begun returns; see `call_hdfs`."""
    # Its thread is not in a forked child.
    refuse_after_fork(url)
    try:
        return answer_within(timeout_s, action, url, begun)
    except StorageError:
        raise
    except Exception as error:
        raise translated(error, action, url) from error
