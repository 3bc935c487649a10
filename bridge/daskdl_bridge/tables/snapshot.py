"""A snapshot of a table: its columns, and the data files whose rows count."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from daskdl_bridge.tables.deleted_rows import DeletedRows

__all__ = ["DataFile", "FindColumns", "Snapshot"]

FindColumns: TypeAlias = Callable[[Any], Mapping[str, str]]
"""Takes the pyarrow.Schema of a data file; returns, by the name of a column of the
table, what the file calls it. Columns that the file does not have are left out."""


@dataclass(frozen=True, kw_only=True)
class DataFile:
    """A data file of a snapshot.

    Parameters
    ----------
    url : str
    size : int
        In bytes.
    find_columns : callable
        See `FindColumns`.
    values : mapping of str to value
        What all rows hold in columns that the file may not have: partition columns,
        and those with a value for old files.
    deleted : DeletedRows, optional
        Rows of the file that no longer count.
    """

    url: str
    size: int
    find_columns: FindColumns
    values: Mapping[str, Any] = field(default_factory=dict)
    deleted: DeletedRows | None = None


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """A table as it was at one time.

    Parameters
    ----------
    url : str
        Of the root.
    types : mapping of str to pyarrow.DataType
        Of the columns, in their order.
    files : tuple of DataFile
    partition_columns : tuple of str
        Columns whose values are known without opening a file.
    spark_schema : str
        As JSON, with the attributes of columns that Spark ML left; empty if the table
        keeps none.
    without_files : callable, optional
        Returns what is to be said if data files are gone.
    """

    url: str
    types: Mapping[str, Any]
    files: tuple[DataFile, ...]
    partition_columns: tuple[str, ...] = ()
    spark_schema: str = ""
    without_files: Callable[[], str] | None = None
