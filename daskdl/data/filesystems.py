"""Which file system a path or URL belongs to; stores of other packages plug in here."""

import importlib.metadata
import os
from typing import Any

import fsspec

__all__ = ["filesystem"]

GROUP = "daskdl.filesystems"


def filesystem(
    path_or_url: str | os.PathLike[str], storage_options: dict[str, Any] | None = None
) -> tuple[Any, str]:
    """Return the file system of a path or URL, and what it calls the place.

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

    Notes
    -----
    An entry point of the group ``daskdl.filesystems`` whose name is the URL's scheme is
    a function like this one and takes precedence over fsspec's own.
    """
    url = os.fspath(path_or_url)
    scheme, separator, _ = url.partition("://")
    plugged_in = importlib.metadata.entry_points(group=GROUP, name=scheme)
    for entry_point in plugged_in if separator else ():
        fs, path = entry_point.load()(url, storage_options)
        return fs, path
    fs, path = fsspec.core.url_to_fs(url, **(storage_options or {}))
    return fs, path
