"""HDFS through hdfs-native, as a file system of fsspec whose calls are guarded.

Only :mod:`daskdl_bridge.storage` imports this module, because hdfs-native is optional.
What guards the calls is in :mod:`daskdl_bridge.hdfs_client`.
"""

import functools
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from hdfs_native import Client
from hdfs_native.fsspec import HdfsFileSystem, ViewfsFileSystem

from daskdl.checks import check_positive
from daskdl.errors import OptionError
from daskdl_bridge.errors import StorageCredentialsError, StorageError
from daskdl_bridge.hdfs_client import GuardedClient, refuse_after_fork
from daskdl_bridge.hdfs_errors import is_of_credentials, shortened, translated
from daskdl_bridge.hdfs_urls import host_and_port, path_of
from daskdl_bridge.hdfs_write_options import write_options_from
from daskdl_bridge.time_limits import TIMEOUT_S

__all__ = ["GuardedHdfs", "GuardedViewfs", "connect"]


def connect(url: str, options: Mapping[str, Any]) -> Any:
    """Return the file system of an ``hdfs://`` or ``viewfs://`` URL, always the same.

    Parameters
    ----------
    url : str
        Its path does not matter.
    options : mapping
        ``timeout_s``, ``kerberos_principal`` and ``kerberos_keytab``, ``replication``
        and ``block_size``, and settings of the Hadoop client.

    Raises
    ------
    StorageError
        In a child forked after its parent used HDFS, and if nobody says where the
        name service is.
    """
    refuse_after_fork(url)
    kind = GuardedViewfs if url.startswith("viewfs:") else GuardedHdfs
    host, port = host_and_port(url)
    configuration = os.environ.get("HADOOP_CONF_DIR")
    given = {name: str(value) for name, value in options.items() if value is not None}
    settings = tuple(sorted(given.items()))
    try:
        return _connected(kind, host, port, settings, configuration)
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
        kerberos_principal: str | None = None,
        kerberos_keytab: str | None = None,
        replication: int | str | None = None,
        block_size: int | str | None = None,
        **configuration: Any,
    ) -> None:
        self.timeout_s = check_positive(
            type(self).__name__, "timeout_s", float(timeout_s)
        )
        self.write_options = write_options_from(replication, block_size)
        root = f"{self.protocol}://{host or ''}{f':{port}' if port else ''}"
        refuse_after_fork(root)
        settings = {name: str(value) for name, value in configuration.items()}
        # The other base, which takes these, is unknown to the type checker.
        super().__init__(host, port, *args, **settings)  # type: ignore[call-arg]
        login = _login(root, kerberos_principal, kerberos_keytab)
        self.client = GuardedClient(
            lambda: Client(root, settings, **login), root, self.timeout_s
        )

    def _open(self, path: str, mode: str = "rb", **named: Any) -> Any:
        if mode == "wb":
            for name, value in asdict(self.write_options).items():
                named[name] = named.get(name) or value
        return super()._open(path, mode, **named)  # type: ignore[misc]

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        return path_of(path)

    @staticmethod
    def _get_kwargs_from_urls(path: str) -> dict[str, Any]:
        host, port = host_and_port(path)
        return {"host": host, "port": port}


class GuardedHdfs(_GuardedFileSystem, HdfsFileSystem):  # type: ignore[misc]
    """The fsspec file system of ``hdfs://`` URLs."""

    protocol = "hdfs"


class GuardedViewfs(_GuardedFileSystem, ViewfsFileSystem):  # type: ignore[misc]
    """The fsspec file system of ``viewfs://`` URLs."""

    protocol = "viewfs"


def _unconfigured(error: RuntimeError, url: str) -> BaseException:
    """Return the error of a URL whose NameNode the client does not know."""
    text = shortened(error)
    if is_of_credentials(text):
        return translated(error, "open", url)
    folder = os.environ.get("HADOOP_CONF_DIR")
    looked = "which is not set" if folder is None else f"here {folder!r}"
    return StorageError(
        f"{url}: the Hadoop configuration must say where its NameNodes are, it does "
        f"not ({text}). Set HADOOP_CONF_DIR, {looked}, to the folder that has "
        "core-site.xml and hdfs-site.xml, or write hdfs://host:port/path."
    )


def _login(root: str, principal: str | None, keytab: str | None) -> dict[str, str]:
    """Return what the client needs to get tickets, looked at before it is used.

    The library for Kerberos says of a missing keytab that there is no ticket cache.
    """
    if principal is None and keytab is None:
        return {}
    if principal is None or keytab is None:
        raise OptionError(
            f"{root}: kerberos_principal and kerberos_keytab must be given together, "
            f"got {principal!r} and {keytab!r}."
        )
    path = keytab.removeprefix("FILE:")
    if not (Path(path).is_file() and os.access(path, os.R_OK)):
        raise StorageCredentialsError(
            f"{root}: kerberos_keytab must be a file that can be read on every worker, "
            f"got {keytab!r}, which cannot be read here."
        )
    return {"kerberos_principal": principal, "kerberos_keytab": path}
