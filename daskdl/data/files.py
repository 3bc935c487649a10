"""Opening files wherever fsspec reaches them; what is written appears all at once."""

import errno
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO

from daskdl.data.filesystems import filesystem
from daskdl.errors import OutputError, OutputExistsError, SourceNotFoundError

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
    fs, path = filesystem(path_or_url, storage_options)
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

    Until then a file that `overwrite` is to replace stays as it is. Locally and on HDFS
    there is never a moment without the one or the other; other stores may copy the new
    file over the old one.

    Raises
    ------
    OutputExistsError
        If there is a file and `overwrite` is False, or a directory.
    OutputError
        If all was written and the store did not let it take its name. It is kept
        under the temporary name in the message.
    """
    fs, path = filesystem(path_or_url, storage_options)
    if fs.exists(path):
        _check_replaceable(path_or_url, is_file=not fs.isdir(path), overwrite=overwrite)
    folder, _, file_name = path.rpartition("/")
    # Hidden, so that a reader of the directory does not take it for data.
    temporary = f"{folder}/.{file_name}.{uuid.uuid4().hex}"
    try:
        with fs.open(temporary, "wb") as stream:
            yield stream
            if _is_one_of(fs, "file"):
                # Else a name that outlives a power cut may stand for an empty file.
                stream.flush()
                os.fsync(stream.fileno())
    except BaseException:
        # A store that has broken off must not hide why.
        with suppress(OSError):
            fs.rm(temporary)
        raise
    try:
        _put_in_place(fs, temporary, path, overwrite=overwrite)
    except OSError as error:
        raise OutputError(
            f"{path_or_url}: what was written must get this name, got {error}. It is "
            f"complete in {fs.unstrip_protocol(temporary)}: move it from there."
        ) from error


def _check_replaceable(path_or_url: _Path, *, is_file: bool, overwrite: bool) -> None:
    if not is_file:
        raise OutputExistsError(
            f"{path_or_url}: must be the name of a file, got a directory there."
        )
    if not overwrite:
        raise OutputExistsError(
            f"{path_or_url}: must not exist yet, got a file there. "
            "Pass overwrite=True to replace it."
        )


def _put_in_place(fs: Any, temporary: str, path: str, *, overwrite: bool) -> None:
    if _is_one_of(fs, "file"):
        os.replace(temporary, path)
        return
    if _is_one_of(fs, "hdfs", "viewfs"):
        fs.mv(temporary, path, overwrite=overwrite)
        return
    try:
        fs.mv(temporary, path)
    except OSError as error:
        if not overwrite or error.errno != errno.EEXIST:
            raise
        # A store that renames only to a free name.
        fs.rm(path)
        fs.mv(temporary, path)


def _is_one_of(fs: Any, *protocols: str) -> bool:
    own = (fs.protocol,) if isinstance(fs.protocol, str) else fs.protocol
    return not set(protocols).isdisjoint(own)
