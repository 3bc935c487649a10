"""The file system of a path or URL; other packages plug in here."""

import os
from typing import Any

import fsspec

from daskdl.checks import check_type
from daskdl.entry_points import entry_points
from daskdl.errors import MissingExtraError, OptionError

__all__ = ["filesystem"]

GROUP = "daskdl.filesystems"


def filesystem(
    path_or_url: str | os.PathLike[str], storage_options: dict[str, Any] | None = None
) -> tuple[Any, str]:
    """Return the file system of a path or URL, and the path within it.

    Parameters
    ----------
    path_or_url : str or path
        A plain path or a URL.
    storage_options : dict, optional
        Handed to the file system.

    Returns
    -------
    fs : fsspec.AbstractFileSystem
    path : str

    Raises
    ------
    OptionError
        If it is no path, or the URL's scheme is unknown.
    MissingExtraError
        If the package for its kind of store is not installed.

    Notes
    -----
    An entry point of the group ``daskdl.filesystems`` whose name is the URL's scheme is
    a function like this one and takes precedence over fsspec's own.
    """
    check_type("filesystem", "path_or_url", path_or_url, str, os.PathLike)
    url = os.fspath(path_or_url)
    scheme, separator, _ = url.partition("://")
    for entry_point in entry_points(GROUP, scheme) if separator else ():
        fs, path = entry_point.load()(url, storage_options)
        return fs, path
    try:
        fs, path = fsspec.core.url_to_fs(url, **(storage_options or {}))
    except ImportError as error:
        raise MissingExtraError(f"{url}: {error}") from error
    except ValueError as error:
        raise OptionError(
            f"{url}: the scheme must be one that fsspec knows, got {scheme!r}."
        ) from error
    return fs, path
