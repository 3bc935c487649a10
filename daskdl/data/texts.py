"""Texts on any store: DL4J's ``readStringFromFile`` and ``writeStringToFile``."""

import os
from typing import Any

from daskdl.data.files import open_input, write_output
from daskdl.errors import DataError
from daskdl.option_types import with_checked_types

__all__ = ["read_text", "write_text"]


@with_checked_types
def read_text(
    path_or_url: str | os.PathLike[str],
    *,
    storage_options: dict[str, Any] | None = None,
) -> str:
    r"""Return the text of a file in UTF-8.

    Parameters
    ----------
    path_or_url : str or path
        A plain path, ``file://``, ``hdfs://``, or what else fsspec opens.
    storage_options : dict, optional
        Handed to the file system.

    Returns
    -------
    str
        As it stands there: line ends are not changed.

    Raises
    ------
    SourceNotFoundError
        If there is no file.
    DataError
        If it is no text in UTF-8.
    StorageError
        If the store does not answer or breaks off.

    Examples
    --------
    >>> write_text("memory://notes/run.txt", "5 epochs\n")
    >>> read_text("memory://notes/run.txt")
    '5 epochs\n'
    """
    with open_input(path_or_url, storage_options=storage_options) as stream:
        data = stream.read()
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path_or_url}: must be text in UTF-8, it is not from its byte "
            f"{error.start} on: {error.reason}."
        ) from error


@with_checked_types
def write_text(
    path_or_url: str | os.PathLike[str],
    text: str,
    *,
    overwrite: bool = False,
    storage_options: dict[str, Any] | None = None,
) -> None:
    """Write a text as a file in UTF-8, which appears when it is complete.

    Parameters
    ----------
    path_or_url : str or path
        A plain path, ``file://``, ``hdfs://``, or what else fsspec opens.
    text : str
    overwrite : bool
        Replace what is there. DL4J always does.
    storage_options : dict, optional
        Handed to the file system.

    Raises
    ------
    OutputExistsError
        If there is a file and `overwrite` is False, or a directory.
    OutputError
        If the store does not take it.
    """
    data = text.encode()
    write_output(
        path_or_url,
        lambda stream: stream.write(data),
        overwrite=overwrite,
        storage_options=storage_options,
    )
