"""HDFS through hdfs-native, with time limits, a guard against fork, typed errors.

A time limit on every call: its own calls wait for ever when a server accepts and never
answers. A guard against fork: in a child forked after the first use every call hangs.
Errors by kind: it raises ``RuntimeError`` with a Java trace for most of what can go
wrong. Only :mod:`daskdl_bridge.storage` imports this module, because hdfs-native is
optional.
"""

import functools
import io
import os
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any, TypeVar

from hdfs_native import WriteOptions
from hdfs_native.fsspec import HdfsFileSystem, ViewfsFileSystem

from daskdl.checks import check_positive
from daskdl.errors import SourceNotFoundError
from daskdl_bridge.errors import (
    StorageError,
    StoragePermissionError,
    StorageTimeoutError,
    StorageUnreachableError,
)

__all__ = ["GuardedHdfs", "GuardedViewfs", "connect"]

T = TypeVar("T")

# A fail-over with 30 s without any active NameNode took 34 s and then went on.
TIMEOUT_S = 60.0

# Larger pieces read no faster; smaller ones cost a thread each (see `call_within`).
_READ_BUFFER_BYTES = 4 << 20


def connect(url: str, options: Mapping[str, Any]) -> Any:
    """Return the file system of an ``hdfs://`` or ``viewfs://`` URL, always the same.

    Parameters
    ----------
    url : str
        Its path does not matter.
    options : mapping
        ``timeout_s`` and settings of the Hadoop client.

    Raises
    ------
    StorageError
        In a child forked after its parent used HDFS, and if nobody says where the
        name service is.
    """
    refuse_after_fork(url)
    kind = GuardedViewfs if url.startswith("viewfs:") else GuardedHdfs
    where = kind._get_kwargs_from_urls(url)
    configuration = os.environ.get("HADOOP_CONF_DIR")
    settings = tuple(sorted((name, str(value)) for name, value in options.items()))
    try:
        return _connected(kind, where["host"], where["port"], settings, configuration)
    except RuntimeError as error:
        raise _unconfigured(error, url) from error


# fsspec's own cache has a client, with threads of its own, for each thread of ours. And
# it lets go of them in a forked child, where hdfs-native then waits for threads that
# the fork did not copy.
@functools.cache
def _connected(
    kind: Any,
    host: str | None,
    port: int | None,
    settings: tuple[tuple[str, str], ...],
    configuration: str | None,
) -> Any:
    return kind(host, port, skip_instance_cache=True, **dict(settings))


class _GuardedFileSystem:
    """The part that both guarded file systems share."""

    protocol: str

    def __init__(
        self,
        host: str | None = None,
        port: int | None = None,
        *args: Any,
        timeout_s: float | str = TIMEOUT_S,
        **configuration: Any,
    ) -> None:
        self.timeout_s = check_positive(
            type(self).__name__, "timeout_s", float(timeout_s)
        )
        root = f"{self.protocol}://{host or ''}{f':{port}' if port else ''}"
        refuse_after_fork(root)
        settings = {name: str(value) for name, value in configuration.items()}
        # The other base, which takes these, is unknown to the type checker.
        super().__init__(host, port, *args, **settings)  # type: ignore[call-arg]
        self.client = GuardedClient(self.client, root, self.timeout_s)  # type: ignore[has-type]

    # hdfs-native parses with urlparse, which lowers the name service's case and ends a
    # path at its first '#' or '?'.
    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        if isinstance(path, list):
            return [cls._strip_protocol(one) for one in path]
        _, scheme, rest = str(path).partition("://")
        if not scheme:
            return str(path) or "/"
        return "/" + rest.partition("/")[2]

    @staticmethod
    def _get_kwargs_from_urls(path: str) -> dict[str, Any]:
        authority = path.partition("://")[2].partition("/")[0]
        host, colon, port = authority.rpartition(":")
        if colon and port.isdigit():
            return {"host": host, "port": int(port)}
        return {"host": authority or None, "port": None}


class GuardedHdfs(_GuardedFileSystem, HdfsFileSystem):  # type: ignore[misc]
    """The fsspec file system of ``hdfs://`` URLs."""

    protocol = "hdfs"


class GuardedViewfs(_GuardedFileSystem, ViewfsFileSystem):  # type: ignore[misc]
    """The fsspec file system of ``viewfs://`` URLs."""

    protocol = "viewfs"


class GuardedClient:
    """The calls of ``hdfs_native.Client`` that its fsspec class makes, guarded.

    Parameters
    ----------
    inner : hdfs_native.Client
        Does the work.
    root : str
        URL without a path, for messages.
    timeout_s : float
        Limit of each call in seconds.
    """

    def __init__(self, inner: Any, root: str, timeout_s: float) -> None:
        self._inner = inner
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
        raw = GuardedReader(inner, self._root + path, self._timeout_s)
        return io.BufferedReader(raw, _READ_BUFFER_BYTES)

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
        return call_within(self._timeout_s, action, self._root + path, function)


class GuardedReader(io.RawIOBase):
    """A file of HDFS open for reading; each read has a time limit."""

    def __init__(self, inner: Any, url: str, timeout_s: float) -> None:
        super().__init__()
        self._inner = inner
        self._url = url
        self._timeout_s = timeout_s

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._inner.seek(offset, whence)
        return int(self._inner.tell())

    def tell(self) -> int:
        return int(self._inner.tell())

    def readinto(self, buffer: Any) -> int:
        # The time limit is one for a piece, however much is asked for.
        n_bytes = min(len(buffer), _READ_BUFFER_BYTES)
        data = call_within(
            self._timeout_s, "read", self._url, lambda: self._inner.read(n_bytes)
        )
        buffer[: len(data)] = data
        return len(data)


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
            return call_within(self._timeout_s, action, self._url, function)
        except OSError:
            self._is_broken = True
            raise


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


def call_within(
    timeout_s: float, action: str, url: str, function: Callable[[], T]
) -> T:
    """Call a function in a thread that is given up when the time is over.

    Parameters
    ----------
    timeout_s : float
        Limit in seconds.
    action, url : str
        What is done to what, for messages: ``list``, ``hdfs://mini/data``.
    function : callable
        Does it. A thread given up goes on until the call returns, if ever; as a daemon
        it does not keep the process from ending.

    Raises
    ------
    StorageTimeoutError
        If the function did not return in time.
    StorageError, PermissionError, FileExistsError, SourceNotFoundError
        What the function's own error means.
    """
    refuse_after_fork(url)
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(function())
        except BaseException as error:  # noqa: BLE001  it is raised by the waiting thread
            future.set_exception(error)

    threading.Thread(target=run, name=f"{action} {url}", daemon=True).start()
    if _waited(future, timeout_s):
        error = future.exception()
        if error is None:
            return future.result()
        raise _translated(error, action, url) from error
    raise StorageTimeoutError(
        f"{url}: HDFS must {action} within {timeout_s:g} s, it did not answer. Check "
        "that NameNodes and DataNodes are up, or raise timeout_s in storage_options."
    )


def _waited(future: "Future[Any]", timeout_s: float) -> bool:
    done = threading.Event()
    future.add_done_callback(lambda _: done.set())
    return done.wait(timeout_s)


def _unconfigured(error: RuntimeError, url: str) -> BaseException:
    """Return the error of a URL whose NameNode the client does not know."""
    text = " ".join(str(error).split())[:300]
    if _is_of_kerberos(text):
        return _translated(error, "open", url)
    folder = os.environ.get("HADOOP_CONF_DIR")
    looked = "which is not set" if folder is None else f"here {folder!r}"
    return StorageError(
        f"{url}: the Hadoop configuration must say where its NameNodes are, it does "
        f"not ({text}). Set HADOOP_CONF_DIR, {looked}, to the folder that has "
        "core-site.xml and hdfs-site.xml, or write hdfs://host:port/path."
    )


def _is_of_kerberos(text: str) -> bool:
    return any(word in text for word in ("GSS", "gss", "Kerberos", "KRB5", "SASL"))


def _translated(error: BaseException, action: str, url: str) -> BaseException:
    text = " ".join(str(error).split())[:300]
    if isinstance(error, FileNotFoundError):
        return SourceNotFoundError(f"{url}: to {action} it, it must exist.")
    if _is_of_kerberos(text):
        return StoragePermissionError(
            f"{url}: HDFS must know who wants to {action} it, there is no valid "
            "Kerberos ticket. Get one with kinit, or name a keytab in "
            f"KRB5_CLIENT_KTNAME. ({text})"
        )
    if "AccessControlException" in text:
        return StoragePermissionError(f"{url}: no permission to {action}: {text}")
    if isinstance(error, FileExistsError) or not isinstance(
        error, OSError | RuntimeError
    ):
        return error
    if "refused" in text or "unreachable" in text or "lookup address" in text:
        return StorageUnreachableError(
            f"{url}: a NameNode or DataNode must be up to {action} it, none accepts "
            f"connections: {text}"
        )
    return StorageError(f"{url}: HDFS could not {action}: {text}")
