"""Directories of table formats, whose files alone do not tell which rows count.

Such a table keeps files of deleted and of replaced rows beside those that count, and
its log tells them apart. Read as plain files, deleted rows come back and others come
twice.
"""

from collections.abc import Iterable
from typing import Any

from daskdl.data.store import kind_of
from daskdl.errors import DataError
from daskdl_bridge.storage import url_of

__all__ = ["refuse_table", "refuse_table_above"]

# Of the directory that names a table as what it is.
_KINDS = {
    "_delta_log": "a Delta table",
    ".hoodie": "a Hudi table",
    "_spark_metadata": "what a streaming query of Spark wrote",
}

# Iceberg's is called like any other; only what is in it tells.
_ICEBERG = "metadata"
_ICEBERG_ENDINGS = (".metadata.json", ".metadata.json.gz")


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
            str(name).endswith(_ICEBERG_ENDINGS)
            for name in fs.ls(directory, detail=False)
        )
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return False


def _refuse(fs: Any, directory: str, kind: str, marker: str) -> None:
    raise DataError(
        f"{url_of(fs, directory)}: must hold plain files, got {marker}, so it is "
        f"{kind}, and only its log tells which rows count. Have Spark write the table "
        "out as Parquet and give that path; or give the files of one snapshot one by "
        "one if no rows are deleted inside them."
    )
