"""Input and output files wherever fsspec reaches them; output appears at once."""

import os
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO

from daskdl.data.filesystems import filesystem
from daskdl.data.retries import BROKEN, in_words, with_retries
from daskdl.data.store import is_one_of, kind_of, move, naming
from daskdl.errors import OutputError, OutputExistsError, SourceNotFoundError

__all__ = ["is_local", "open_input", "write_output"]

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
    StorageError
        If the store does not answer or breaks off.
    """
    fs, path = filesystem(path_or_url, storage_options)
    with naming(path_or_url):
        try:
            stream = fs.open(path, "rb")
        except (FileNotFoundError, IsADirectoryError) as error:
            raise SourceNotFoundError(
                f"{path_or_url}: must be a file, got nothing or a directory there."
            ) from error
        with stream:
            yield stream


def write_output(
    path_or_url: _Path,
    write: Callable[[BinaryIO], object],
    *,
    overwrite: bool = False,
    storage_options: dict[str, Any] | None = None,
) -> None:
    """Write a file; it gets its name when it is complete.

    Until then a file that `overwrite` is to replace stays as it is. Locally and on HDFS
    there is never a moment without the one or the other; other stores may copy the new
    file over the old one. A store that breaks off is given the whole file again, under
    another temporary name: see :mod:`daskdl.data.retries`.

    Parameters
    ----------
    path_or_url : str or path
        A plain path, ``file://``, ``hdfs://``, or what else fsspec opens.
    write : callable
        Writes all bytes to the stream it is given; called again for each try.
    overwrite : bool
        Replace what is there.
    storage_options : dict, optional
        Handed to the file system.

    Raises
    ------
    OutputExistsError
        If there is a file and `overwrite` is False, or a directory.
    OutputError
        If the store did not take the file. If only its name was refused, the file is
        kept under the temporary name in the message.
    """
    fs, path = filesystem(path_or_url, storage_options)
    try:
        _check_replaceable(path_or_url, kind_of(fs, path), overwrite=overwrite)
        temporary = with_retries(
            f"{path_or_url}: writing it", lambda: _write_aside(fs, path, write)
        )
    except OutputExistsError:
        raise
    except BROKEN as error:
        raise OutputError(
            f"{path_or_url}: must be written, the store does not take it: "
            f"{in_words(error)}."
        ) from error
    try:
        move(fs, temporary, path, overwrite=overwrite)
    except BROKEN as error:
        raise OutputError(
            f"{path_or_url}: what was written must get this name, got "
            f"{in_words(error)}. It is complete in {fs.unstrip_protocol(temporary)}: "
            "move it from there."
        ) from error
    except BaseException:
        _remove(fs, temporary)
        raise


def check_free(path_or_url: _Path) -> None:
    """Refuse a name that :func:`write_output` would refuse without `overwrite`.

    Raises
    ------
    OutputExistsError
        If there is a file or a directory.
    """
    fs, path = filesystem(path_or_url, None)
    _check_replaceable(path_or_url, kind_of(fs, path), overwrite=False)


def make_folder(path_or_url: _Path) -> None:
    """Make a directory and those above it, if it is not there, with retries.

    Raises
    ------
    OutputError
        If the store does not let it.
    """
    fs, path = filesystem(path_or_url)
    try:
        with_retries(
            f"{path_or_url}: making it", lambda: fs.makedirs(path, exist_ok=True)
        )
    except BROKEN as error:
        raise OutputError(
            f"{path_or_url}: must be made for checkpoints, the store does not let it: "
            f"{in_words(error)}."
        ) from error


def _check_replaceable(
    path_or_url: _Path, kind: str | None, *, overwrite: bool
) -> None:
    if kind == "directory":
        raise OutputExistsError(
            f"{path_or_url}: must be the name of a file, got a directory there."
        )
    if kind is not None and not overwrite:
        raise OutputExistsError(
            f"{path_or_url}: must not exist yet, got a file there. "
            "Pass overwrite=True to replace it."
        )


def _write_aside(fs: Any, path: str, write: Callable[[BinaryIO], object]) -> str:
    """Write a file beside `path`, and return its name."""
    folder, _, file_name = path.rpartition("/")
    # Hidden, so that a reader of the directory does not take it for data.
    temporary = f"{folder}/.{file_name}.{uuid.uuid4().hex}"
    try:
        with fs.open(temporary, "wb") as stream:
            write(stream)
            if is_one_of(fs, "file"):
                # Else a name that outlives a power cut may stand for an empty file.
                stream.flush()
                os.fsync(stream.fileno())
    except BaseException:
        _remove(fs, temporary)
        raise
    return temporary


def _remove(fs: Any, temporary: str) -> None:
    # A store that has broken off must not hide why.
    with suppress(*BROKEN):
        fs.rm(temporary)
