"""Directories that are made and filled, or not there."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from daskdl.data.files import is_local
from daskdl.data.filesystems import filesystem
from daskdl.data.retries import BROKEN
from daskdl.data.store import entries_of, kind_of, naming, remove
from daskdl.errors import OutputExistsError

__all__ = ["name_elsewhere", "new_directory"]


@contextmanager
def new_directory(
    path_or_url: str | os.PathLike[str], storage_options: dict[str, Any]
) -> Iterator[str]:
    """Make a directory for the block to fill; remove it if the block fails.

    Parameters
    ----------
    path_or_url : str or path
    storage_options : dict
        Handed to the file system.

    Yields
    ------
    str
        Its path or URL, as workers may be told it.

    Raises
    ------
    OutputExistsError
        If there is a file, or a directory that is not empty.
    """
    fs, path = filesystem(path_or_url, storage_options)
    if kind_of(fs, path) == "file" or entries_of(fs, path):
        raise OutputExistsError(
            f"{path_or_url}: must not exist yet, got something there. Choose another "
            "directory, or remove it."
        )
    with naming(path_or_url):
        fs.makedirs(path, exist_ok=True)
    try:
        yield name_elsewhere(fs, path)
    except BaseException:
        with suppress(*BROKEN):
            remove(fs, path, recursive=True)
        raise


def name_elsewhere(fs: Any, path: str) -> str:
    """Return a name that depends on no default file system and no folder of work."""
    url = str(fs.unstrip_protocol(path))
    return path if is_local(url) else url
