"""HDFS over HTTP, by WebHDFS or an HttpFS gateway, where its own ports are not open.

The file system of fsspec, with a time limit on every request, errors by kind, and
renames that are not taken for done when the answer says that they are not. Only
:mod:`daskdl_bridge.storage` imports this module, because requests is optional.
"""

import getpass
import os
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import requests
from fsspec.implementations.webhdfs import WebHDFile, WebHDFS

from daskdl.checks import check_positive
from daskdl.errors import MissingExtraError, OptionError
from daskdl_bridge.errors import (
    StorageCredentialsError,
    StorageError,
    StorageUnreachableError,
)
from daskdl_bridge.hdfs_errors import shortened, translated
from daskdl_bridge.hdfs_urls import host_and_port, path_of
from daskdl_bridge.hdfs_write_options import write_options_from
from daskdl_bridge.time_limits import TIMEOUT_S, call_within

__all__ = ["connect"]

# Before the path in every URL of the protocol.
_PREFIX = "/webhdfs/v1"

_ACTIONS = {
    "APPEND": "write",
    "CREATE": "create",
    "DELETE": "delete",
    "GETFILESTATUS": "look up",
    "LISTSTATUS": "list",
    "MKDIRS": "make directory",
    "OPEN": "read",
    "RENAME": "rename",
}


def connect(url: str, options: Mapping[str, Any]) -> "GuardedWebHdfs":
    """Return the file system of a ``webhdfs://`` or ``swebhdfs://`` URL.

    Parameters
    ----------
    url : str
        With host and port of a NameNode's or a gateway's HTTP server.
    options : mapping
        See `GuardedWebHdfs`.

    Raises
    ------
    OptionError
        If host or port is missing.
    MissingExtraError
        For ``kerberos: true`` without requests-kerberos.
    """
    host, port = host_and_port(url)
    if not host or port is None:
        raise OptionError(
            f"{url}: host and port of the HTTP server must be given, such as "
            "webhdfs://namenode:9870/path. Name services have no port: hdfs:// is "
            "for them."
        )
    try:
        return GuardedWebHdfs(
            host, port, use_https=url.startswith("swebhdfs:"), **options
        )
    except ImportError as error:
        raise MissingExtraError(
            f"{url}: requests-kerberos must be installed for kerberos: true. "
            "Run: pip install requests-kerberos"
        ) from error


class GuardedWebHdfs(WebHDFS):  # type: ignore[misc]
    """The fsspec file system of ``webhdfs://`` and ``swebhdfs://`` URLs.

    Parameters
    ----------
    host : str
    port : int
    use_https : bool
    timeout_s : float
        Limit of each request in seconds.
    user : str, optional
        Who asks where nobody checks it; ``HADOOP_USER_NAME``, else the user of this
        process, if neither ``kerberos`` nor ``token`` is given.
    replication, block_size : int, optional
        Of files that are written; the cluster's own if not given.
    **options
        See :class:`fsspec.implementations.webhdfs.WebHDFS`.
    """

    def __init__(
        self,
        host: str,
        port: int,
        *,
        use_https: bool = False,
        timeout_s: float | str = TIMEOUT_S,
        user: str | None = None,
        replication: int | str | None = None,
        block_size: int | str | None = None,
        **options: Any,
    ) -> None:
        self.timeout_s = check_positive(
            type(self).__name__, "timeout_s", float(timeout_s)
        )
        self.write_options = write_options_from(replication, block_size)
        self.root = f"{'swebhdfs' if use_https else 'webhdfs'}://{host}:{port}"
        if user is None and not options.get("kerberos") and not options.get("token"):
            user = os.environ.get("HADOOP_USER_NAME") or getpass.getuser()
        super().__init__(host, port, use_https=use_https, user=user, **options)

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        return path_of(path)

    def unstrip_protocol(self, name: str) -> str:
        """Return the URL of a path."""
        return f"{self.root}{path_of(name)}"

    def makedirs(self, path: str, exist_ok: bool = False) -> None:
        """Make a directory and those above it."""
        if not exist_ok and self.exists(path):
            raise FileExistsError(f"{self.root}{path}: it exists already.")
        self.mkdir(path)

    def rmdir(self, path: str) -> None:
        """Remove an empty directory, which fsspec leaves where it is."""
        self.rm(path)

    def mv(self, path1: str, path2: str, overwrite: bool = False, **_: Any) -> None:
        """Rename a file or directory.

        Raises
        ------
        FileExistsError
            If there is something at `path2` and `overwrite` is False.
        StorageError
            If it was not renamed for another reason.
        """
        options = {"renameoptions": "OVERWRITE"} if overwrite else {}
        answer = self._call(
            "RENAME", method="put", path=path1, destination=path_of(path2), **options
        )
        # A NameNode with options has nothing to answer, or raises.
        if not answer.content or answer.json()["boolean"]:
            return
        if not self.exists(path2):
            # Without `path1` this raises for that.
            self.info(path1)
            raise StorageError(f"{self.root}{path1}: it was not renamed to {path2}.")
        if not overwrite:
            raise FileExistsError(f"{self.root}{path2}: nothing may be there yet.")
        # A gateway, which does not know the option.
        self.rm(path2)
        self.mv(path1, path2)

    def _connect(self) -> None:
        super()._connect()
        plain: requests.Session = self.session  # type: ignore[has-type]
        self.session = _Session(self.root, self.timeout_s)
        for name in ("auth", "cert", "verify"):
            setattr(self.session, name, getattr(plain, name))

    @staticmethod
    def _process_info(info: dict[str, Any]) -> Any:
        # The name by which daskdl.data.fingerprint knows it.
        info["modification_time"] = info["modificationTime"]
        return WebHDFS._process_info(info)

    def _open(self, path: str, mode: str = "rb", **options: Any) -> "_File":
        return _File(
            self,
            path,
            mode=mode,
            block_size=options.get("block_size") or self.blocksize,
            tempdir=self.tempdir,
            autocommit=options.get("autocommit", True),
            # By these names the protocol knows them; None is not sent.
            replication=self.write_options.replication,
            blocksize=self.write_options.block_size,
        )


class _File(WebHDFile):  # type: ignore[misc]
    """A file over HTTP that is whole or an error."""

    def _fetch_range(self, start: int, end: int) -> bytes:
        data: bytes = super()._fetch_range(start, end)
        wanted = max(0, min(end, self.size) - max(start, 0))
        if len(data) != wanted:
            raise StorageError(
                f"{self.fs.root}{self.path}: HDFS must give {wanted} bytes from byte "
                f"{start} on, it broke off after {len(data)}."
            )
        return data


class _Session(requests.Session):  # type: ignore[misc]
    """Requests with a time limit each, whose refusals are errors by kind."""

    def __init__(self, root: str, timeout_s: float) -> None:
        super().__init__()
        self._root = root
        self._timeout_s = timeout_s

    def request(self, method: Any, url: Any, *arguments: Any, **named: Any) -> Any:
        """Send one request; see :meth:`requests.Session.request`."""
        parts = urlsplit(str(url))
        asked = named.get("params") or {
            name: values[0] for name, values in parse_qs(parts.query).items()
        }
        action = _ACTIONS.get(asked.get("op", "").upper(), "answer for")
        place = self._root + unquote(parts.path.removeprefix(_PREFIX))
        ask = super().request
        try:
            response = call_within(
                self._timeout_s,
                action,
                place,
                # Later than the limit, so that what was given up ends too.
                lambda: ask(
                    method, url, *arguments, **named, timeout=2 * self._timeout_s
                ),
            )
        except requests.ConnectionError as error:
            raise StorageUnreachableError(
                f"{place}: a server must be up to {action} it, none accepts "
                f"connections or it broke off: {shortened(error)}"
            ) from error
        except requests.RequestException as error:
            raise StorageError(
                f"{place}: HDFS could not {action}: {shortened(error)}"
            ) from error
        if response.status_code >= 400:
            raise _refusal(response, action, place)
        return response


def _refusal(response: requests.Response, action: str, place: str) -> BaseException:
    """Return what an answer that is no result means."""
    try:
        told = response.json()["RemoteException"]
        name, message = told["exception"], told["message"]
    except (ValueError, KeyError, TypeError):
        name, message = "", f"status {response.status_code} {response.reason}"
    if response.status_code == requests.codes.unauthorized:
        return StorageCredentialsError(
            f"{place}: HDFS must know who wants to {action} it. Give in "
            "storage_options kerberos: true after kinit, a token, or user and "
            f"password. ({message})"
        )
    if name == "FileNotFoundException":
        return translated(FileNotFoundError(message), action, place)
    return translated(RuntimeError(f"{name}: {message}"), action, place)
