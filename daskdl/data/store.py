"""Listing, moving and removing files in stores that may not answer at once."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Literal

from daskdl.data.retries import BROKEN, in_words, is_lasting, with_retries
from daskdl.errors import DaskdlError, StorageError

__all__ = [
    "entries_of",
    "info_of",
    "is_one_of",
    "kind_of",
    "move",
    "naming",
    "remove",
    "renames_directories",
]

# Elsewhere a directory is moved file by file, by copying.
_OF_HADOOP = ("hdfs", "viewfs", "webhdfs")
_RENAMING = ("file", "local", *_OF_HADOOP)


@contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Name the path when a store breaks off, and tell it from errors of a cluster.

    What says plainly what is wrong, such as a missing permission, comes out as it is.
    """
    try:
        yield
    except BROKEN as error:
        if isinstance(error, DaskdlError) or is_lasting(error):
            raise
        raise StorageError(
            f"{path}: the store must give it, it does not: {in_words(error)}."
        ) from error


def is_one_of(fs: Any, *protocols: str) -> bool:
    """Return whether a file system has one of these names in fsspec."""
    own = (fs.protocol,) if isinstance(fs.protocol, str) else fs.protocol
    return not set(protocols).isdisjoint(own)


def renames_directories(fs: Any) -> bool:
    """Tell whether a directory changes its name in one operation."""
    return is_one_of(fs, *_RENAMING)


def info_of(fs: Any, path: str) -> dict[str, Any] | None:
    """Return a store's entry for a path; None if there is nothing.

    fsspec's ``exists`` takes it for nothing when a store does not answer, and whoever
    trusts that may write over what is there.
    """
    try:
        with naming(path):
            info: dict[str, Any] = with_retries(
                f"{path}: looking it up", lambda: fs.info(path)
            )
    except (FileNotFoundError, NotADirectoryError):
        return None
    return info


def kind_of(fs: Any, path: str) -> Literal["file", "directory"] | None:
    """Return whether a path is a file or a directory; None if there is nothing."""
    info = info_of(fs, path)
    if info is None:
        return None
    return "directory" if info["type"] == "directory" else "file"


def entries_of(fs: Any, path: str) -> list[str]:
    """Return the paths in a directory; nothing if there is none."""
    fs.invalidate_cache(path)
    try:
        with naming(path):
            found = with_retries(
                f"{path}: listing it", lambda: fs.ls(path, detail=False)
            )
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [entry.rstrip("/") for entry in found if entry.rstrip("/") != path]


def move(fs: Any, source: str, target: str, *, overwrite: bool = False) -> None:
    """Give a file another name; a directory too, under a name that is free.

    Parameters
    ----------
    fs : fsspec.AbstractFileSystem
    source, target : str
        Paths of `fs`.
    overwrite : bool
        Replace a file at `target`.
    """
    tries: list[str] = []

    def once() -> None:
        if tries and kind_of(fs, source) is None and kind_of(fs, target) is not None:
            # The try before did it, only the answer was lost.
            return
        tries.append(source)
        _rename(fs, source, target, overwrite=overwrite)

    with_retries(f"{source}: moving it", once)


def remove(fs: Any, path: str, *, recursive: bool = False) -> None:
    """Remove a file or directory, if it still exists."""
    with suppress(FileNotFoundError):
        with_retries(f"{path}: removing it", lambda: fs.rm(path, recursive=recursive))


def _rename(fs: Any, source: str, target: str, *, overwrite: bool) -> None:
    if is_one_of(fs, "file"):
        # Not fs.mv, which moves into a directory that is there.
        os.replace(source, target)
        return
    if is_one_of(fs, *_OF_HADOOP):
        fs.mv(source, target, overwrite=overwrite)
        return
    try:
        fs.mv(source, target, recursive=kind_of(fs, source) == "directory")
    except OSError as error:
        if not overwrite or error.errno != errno.EEXIST:
            raise
        # A store that renames only to a free name.
        fs.rm(target)
        fs.mv(source, target)
