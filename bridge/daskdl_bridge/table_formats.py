"""Directories of table formats, whose files alone do not tell which rows count.

Such a table keeps files of deleted and of replaced rows beside those that count, and
its log tells them apart. Read as plain files, deleted rows come back and others come
twice. Tables of Delta and Iceberg, and what a streaming query wrote, are opened at
their root, and nowhere else.
"""

import os
from collections.abc import Iterable
from typing import Any

from daskdl.data.store import is_one_of, kind_of
from daskdl.errors import DataError
from daskdl_bridge.storage import url_of
from daskdl_bridge.streaming_log import STREAMING_LOG
from daskdl_bridge.tables.iceberg_metadata import METADATA_ENDINGS

__all__ = [
    "OPENED_TABLES",
    "places_of",
    "refuse_table",
    "refuse_table_above",
    "table_format",
]

OPENED_TABLES = ("delta", "iceberg")
"""Formats of tables that are opened at their root."""

# Of the directory that names a table as what it is.
_DELTA = "_delta_log"
_HUDI = ".hoodie"
_KINDS = {
    _DELTA: "a Delta table",
    _HUDI: "a Hudi table",
    STREAMING_LOG: "what a streaming query of Spark wrote",
}

# Iceberg's is called like any other; only what is in it tells.
_ICEBERG = "metadata"

_WRITE_ANEW = (
    "Have Spark write the table out as Parquet and give that path; or give the files "
    "of one snapshot one by one if no rows are deleted inside them."
)
_GIVE_ROOT = "Give that path by itself, and its log is read."


def table_format(fs: Any, path: str) -> str | None:
    """Return the format of the table whose root a path is, or whose metadata file.

    Returns
    -------
    str or None
        One of `OPENED_TABLES`; None for all else.
    """
    if path.endswith(METADATA_ENDINGS):
        return "iceberg" if kind_of(fs, path) == "file" else None
    markers = _markers_in(fs, path)
    if _DELTA in markers:
        return "delta"
    is_iceberg = _ICEBERG in markers and _is_of_iceberg(fs, f"{path}/{_ICEBERG}")
    return "iceberg" if is_iceberg else None


def refuse_table(fs: Any, directory: str, names: Iterable[str]) -> None:
    """Refuse a directory if it is the root of a table.

    Parameters
    ----------
    fs : fsspec.AbstractFileSystem
        Where it is.
    directory : str
        What `fs` calls it.
    names : iterable of str
        Of all that lies in it.

    Raises
    ------
    DataError
        With the kind of table, and what to give instead.
    """
    for name in names:
        if name in _KINDS:
            _refuse(fs, directory, _KINDS[name], name)
        if name == _ICEBERG and _is_of_iceberg(fs, f"{directory}/{name}"):
            _refuse(fs, directory, "an Iceberg table", f"{name}/*.metadata.json")


def refuse_table_above(fs: Any, path: str) -> None:
    """Refuse a path that lies in a table: below its ``data``, in one of its partitions.

    Raises
    ------
    DataError
        As `refuse_table`.
    """
    above = path.rpartition("/")[0]
    while above and not above.endswith(":/"):
        refuse_table(fs, above, _markers_in(fs, above))
        above = above.rpartition("/")[0]


def places_of(fs: Any, path: str) -> list[str]:
    """Return a path, and with it the one that its links lead to if it is local.

    A link to a directory of a table stands elsewhere, where nothing above tells.
    """
    real = os.path.realpath(path) if is_one_of(fs, "file", "local") else path
    return list(dict.fromkeys([path, real]))


def _markers_in(fs: Any, directory: str) -> list[str]:
    # One by one: the directory may hold more than anyone would want to list.
    try:
        return [n for n in (*_KINDS, _ICEBERG) if kind_of(fs, f"{directory}/{n}")]
    except PermissionError:
        # A store may let us read a directory and nothing of what is above it.
        return []


def _is_of_iceberg(fs: Any, directory: str) -> bool:
    try:
        return any(
            str(name).endswith(METADATA_ENDINGS)
            for name in fs.ls(directory, detail=False)
        )
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return False


def _refuse(fs: Any, directory: str, kind: str, marker: str) -> None:
    raise DataError(
        f"{url_of(fs, directory)}: must hold plain files, got {marker}, so it is "
        f"{kind}, and only its log tells which rows count. "
        f"{_WRITE_ANEW if marker == _HUDI else _GIVE_ROOT}"
    )
