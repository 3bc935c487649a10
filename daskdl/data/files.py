"""Opening files wherever fsspec reaches them; what is written appears all at once."""

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

import fsspec

from daskdl.errors import OutputExistsError, SourceNotFoundError

__all__ = ["is_local", "open_input", "open_output"]

_Path = str | os.PathLike[str]


def is_local(path_or_url: _Path) -> bool:
    """Say whether it is a plain path or a ``file://`` URL."""
    scheme, separator, _ = str(path_or_url).partition("://")
    return not separator or scheme in ("file", "local")


@contextmanager
def open_input(
    path_or_url: _Path, *, storage_options: dict[str, Any] | None = None
) -> Iterator[BinaryIO]:
    """Open a file to read bytes.

    Raises
    ------
    SourceNotFoundError
        If there is no file.
    """
    fs, path = fsspec.core.url_to_fs(str(path_or_url), **(storage_options or {}))
    try:
        stream = fs.open(path, "rb")
    except (FileNotFoundError, IsADirectoryError) as error:
        raise SourceNotFoundError(
            f"{path_or_url}: must be a file, got nothing or a directory there."
        ) from error
    with stream:
        yield stream


@contextmanager
def open_output(
    path_or_url: _Path,
    *,
    overwrite: bool = False,
    storage_options: dict[str, Any] | None = None,
) -> Iterator[BinaryIO]:
    """Open a file to write bytes; it gets its name when the block ends without error.

    Raises
    ------
    OutputExistsError
        If there is something at the path and `overwrite` is False.
    """
    fs, path = fsspec.core.url_to_fs(str(path_or_url), **(storage_options or {}))
    if fs.exists(path) and not overwrite:
        raise OutputExistsError(
            f"{path_or_url}: must not exist yet, got a file there. "
            "Pass overwrite=True to replace it."
        )
    folder, _, file_name = path.rpartition("/")
    # Hidden, so that a reader of the directory does not take it for data.
    temporary = f"{folder}/.{file_name}.{uuid.uuid4().hex}"
    try:
        with fs.open(temporary, "wb") as stream:
            yield stream
        if fs.exists(path):
            fs.rm(path)
        fs.mv(temporary, path)
    finally:
        if fs.exists(temporary):
            fs.rm(temporary)
