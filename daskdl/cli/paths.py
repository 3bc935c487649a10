"""Paths that begin at a folder, made whole."""

import os
import posixpath

__all__ = ["resolve_path"]


def resolve_path(folder: str, path: str) -> str:
    """Return `path` as it is if it is a URL or absolute, else below `folder`."""
    path = os.path.expanduser(path)
    if "://" in path or os.path.isabs(path):
        return path
    if "://" in folder:
        scheme, _, rest = folder.partition("://")
        return f"{scheme}://{posixpath.normpath(posixpath.join(rest, path))}"
    return os.path.normpath(os.path.join(folder, path))
