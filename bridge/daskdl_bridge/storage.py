"""Paths and URLs to file systems: local, HDFS, and whatever else fsspec knows.

All of the bridge opens files through here and through nothing else. pandas, pyarrow and
Dask, given an ``hdfs://`` URL, start a Java machine instead; given a file object from
here, they do not.
"""

import fnmatch
import functools
import os
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import fsspec

from daskdl.checks import did_you_mean, some
from daskdl.data.store import entries_of, kind_of
from daskdl.errors import MissingExtraError, OptionError, SourceNotFoundError
from daskdl_bridge.hdfs_urls import path_of

__all__ = [
    "Location",
    "expand_locations",
    "filesystem",
    "is_hidden",
    "join_url",
    "named_location",
    "not_found",
    "open_input",
    "url_of",
]

Location: TypeAlias = str | os.PathLike[str]

# Hadoop's names for what fsspec calls s3.
_SAME_STORE = {"s3a": "s3", "s3n": "s3"}

_SCHEMES = ("hdfs", "viewfs", "webhdfs", "swebhdfs", "file", "s3", "s3a", "gs")

_MAGIC = re.compile(r"[*?\[{]")


def filesystem(
    url: Location, storage_options: Mapping[str, Any] | None = None
) -> tuple[Any, str]:
    """Find the file system of a path or URL.

    Parameters
    ----------
    url : str or path
        A plain path, or a URL such as ``hdfs://nameservice/data``, ``hdfs:///data``
        (the default name service), ``viewfs://``, ``webhdfs://host:port/data``,
        ``swebhdfs://``, ``file://``, ``s3a://``.
    storage_options : dict, optional
        Handed to the file system. For HDFS: ``timeout_s``, the limit of each call in
        seconds (60), ``replication`` and ``block_size`` of files that are written,
        ``kerberos_principal`` and ``kerberos_keytab``, and any Hadoop client setting;
        ``HADOOP_CONF_DIR`` is read too. For WebHDFS: the first three, ``user``,
        ``kerberos``, ``token``.

    Returns
    -------
    fs : fsspec.AbstractFileSystem
        Picklable.
    path : str
        What `fs` calls the place.

    Raises
    ------
    MissingExtraError
        If the package for that kind of store is not installed.
    OptionError
        If the kind of store is unknown.
    """
    text = os.fspath(url)
    options = dict(storage_options or {})
    scheme, separator, _ = text.partition("://")
    if scheme in ("hdfs", "viewfs") and separator:
        return _hdfs(text, options)
    if scheme in ("webhdfs", "swebhdfs") and separator:
        return _webhdfs(text, options)
    options.pop("timeout_s", None)
    if not separator or scheme == "file":
        # Not url_to_fs: it takes '::' in a file name for a chain of file systems.
        local = text.removeprefix("file://")
        return _local(), str(Path(local).expanduser().absolute())
    scheme = _SAME_STORE.get(scheme, scheme)
    try:
        fs, path = fsspec.core.url_to_fs(
            f"{scheme}{text[text.index(':') :]}", **options
        )
    except ImportError as error:
        raise MissingExtraError(f"{text}: {error}") from error
    except ValueError as error:
        raise OptionError(
            f"{text}: the scheme must be one that fsspec knows, got {scheme!r}."
            f"{did_you_mean(scheme, _SCHEMES)}"
        ) from error
    return fs, str(path)


def url_of(fs: Any, path: str) -> str:
    """Return a path of `fs` as users write it: plain if local, else a URL."""
    if "file" in _protocols(fs):
        return path
    return str(fs.unstrip_protocol(path))


def join_url(url: Location, *names: str) -> str:
    """Append names to a path or URL."""
    return "/".join([os.fspath(url).rstrip("/"), *names])


def open_input(url: Location, storage_options: Mapping[str, Any] | None = None) -> Any:
    """Open a file for reading bytes, with seek, for pyarrow.

    Raises
    ------
    SourceNotFoundError
        If there is no such file.
    """
    fs, path = filesystem(url, storage_options)
    try:
        return fs.open(path, "rb")
    except FileNotFoundError as error:
        raise not_found(fs, path) from error


def expand_locations(
    data: Location | Iterable[Location],
    storage_options: Mapping[str, Any] | None = None,
) -> list[tuple[Any, str, bool]]:
    """Resolve paths as Hadoop does: lists, commas, braces and globs.

    Parameters
    ----------
    data : str, path, or several of them
        Each may hold several parts separated by commas, alternatives ``{a,b}``, and
        ``*``, ``?``, ``[...]``. A name that exists as it stands is not a pattern.
    storage_options : dict, optional
        See `filesystem`.

    Returns
    -------
    list of (fs, path, is_named)
        In the order given; the matches of one pattern by name, without hidden ones.
        `is_named` tells whether it stood there as it is, and not for a pattern.

    Raises
    ------
    SourceNotFoundError
        If a pattern matches nothing. Plain names are not looked up.
    """
    found: list[tuple[Any, str, bool]] = []
    for item in [data] if isinstance(data, str | os.PathLike) else data:
        for url in _without_commas(item, storage_options):
            found += _matches(url, storage_options)
    return found


def named_location(
    data: Location | Iterable[Location],
    storage_options: Mapping[str, Any] | None = None,
) -> tuple[Any, str] | None:
    """Return file system and path of a single name; None for several or a pattern."""
    items = [data] if isinstance(data, str | os.PathLike) else list(data)
    urls = [url for item in items for url in _without_commas(item, storage_options)]
    if len(urls) != 1:
        return None
    fs, path = filesystem(urls[0], storage_options)
    if _MAGIC.search(path) and kind_of(fs, path) is None:
        return None
    return fs, path.rstrip("/") or "/"


def is_hidden(name: str) -> bool:
    """Tell whether Spark and Hadoop skip a name: ``_SUCCESS``, ``.part.crc``.

    A partition directory may start with an underscore if its column does.
    """
    if name.startswith(".") or name.endswith("._COPYING_"):
        return True
    return name.startswith("_") and "=" not in name


def not_found(fs: Any, path: str) -> SourceNotFoundError:
    """Return the error of a path that does not exist, with the nearest name."""
    parent, _, name = path.rstrip("/").rpartition("/")
    parent = parent or "/"
    while parent != "/" and kind_of(fs, parent) is None:
        parent, _, name = parent.rpartition("/")
        parent = parent or "/"
    known = [entry.rpartition("/")[2] for entry in entries_of(fs, parent)]
    there = some(sorted(known)) or "nothing"
    return SourceNotFoundError(
        f"{url_of(fs, path)}: the path must exist. {url_of(fs, parent)} holds {there}."
        f"{did_you_mean(name, known)}"
    )


# Asking fsspec takes a tenth of what it takes to read a small file.
@functools.cache
def _local() -> Any:
    return fsspec.filesystem("file")


def _hdfs(url: str, options: dict[str, Any]) -> tuple[Any, str]:
    try:
        from daskdl_bridge.hdfs import connect
    except ImportError as error:
        raise MissingExtraError(
            f"{url}: the package hdfs-native must be installed to reach HDFS. "
            "Run: pip install 'daskdl[hdfs]'"
        ) from error
    return _placed(connect(url, options), url)


def _webhdfs(url: str, options: dict[str, Any]) -> tuple[Any, str]:
    try:
        from daskdl_bridge.webhdfs import connect
    except ImportError as error:
        raise MissingExtraError(
            f"{url}: the package requests must be installed to reach HDFS over HTTP. "
            "Run: pip install 'daskdl[webhdfs]'"
        ) from error
    return _placed(connect(url, options), url)


def _placed(fs: Any, url: str) -> tuple[Any, str]:
    """Return a file system of HDFS and what it calls the place of a URL."""
    path = path_of(url)
    # Hadoop's Path does so; a NameNode refuses them.
    has_dots = not {".", ".."}.isdisjoint(path.split("/"))
    return fs, posixpath.normpath(path) if has_dots else path


def _matches(
    url: str, storage_options: Mapping[str, Any] | None
) -> list[tuple[Any, str, bool]]:
    fs, path = filesystem(url, storage_options)
    if not _MAGIC.search(path) or kind_of(fs, path) is not None:
        return [(fs, path.rstrip("/") or "/", True)]
    names = [name for pattern in _without_braces(path) for name in _found(fs, pattern)]
    kept = [name for name in names if not is_hidden(name.rpartition("/")[2])]
    if not kept:
        raise SourceNotFoundError(
            f"{url_of(fs, path)}: the pattern must match something, it matches nothing."
        )
    return [(fs, name, False) for name in kept]


def _found(fs: Any, pattern: str) -> list[str]:
    """Return the paths that match a pattern, by name.

    Not by fsspec's ``glob``, which leaves out what a store does not list just now.
    """
    places = [""]
    for depth, component in enumerate(pattern.split("/")):
        if component == "**":
            places = [below for place in places for below in _below(fs, place)]
        elif _MAGIC.search(component):
            wanted = component.replace("[^", "[!")
            places = [
                entry
                for place in places
                for entry in entries_of(fs, place or "/")
                if fnmatch.fnmatchcase(entry.rpartition("/")[2], wanted)
            ]
        else:
            places = [
                f"{place}/{component}" if depth else component for place in places
            ]
    is_certain = bool(_MAGIC.search(pattern.rpartition("/")[2]))
    found = places if is_certain else [p for p in places if kind_of(fs, p) is not None]
    return sorted(set(found))


def _below(fs: Any, directory: str) -> Iterator[str]:
    """Yield a directory and all that is below it."""
    yield directory
    for entry in entries_of(fs, directory or "/"):
        if not is_hidden(entry.rpartition("/")[2]):
            yield from _below(fs, entry)


def _without_commas(
    item: Location, storage_options: Mapping[str, Any] | None
) -> list[str]:
    if not isinstance(item, str) or "," not in item:
        return [os.fspath(item)]
    fs, path = filesystem(item, storage_options)
    if kind_of(fs, path) is not None:
        return [item]
    # A comma inside braces separates alternatives of one pattern.
    return [one.strip() for one in re.split(r",(?![^{]*\})", item) if one.strip()]


def _without_braces(pattern: str) -> list[str]:
    match = re.search(r"\{([^{}]*)\}", pattern)
    if match is None:
        return [pattern]
    head, tail = pattern[: match.start()], pattern[match.end() :]
    return [
        expanded
        for choice in match[1].split(",")
        for expanded in _without_braces(head + choice + tail)
    ]


def _protocols(fs: Any) -> tuple[str, ...]:
    return (fs.protocol,) if isinstance(fs.protocol, str) else tuple(fs.protocol)
