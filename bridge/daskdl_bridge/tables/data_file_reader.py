"""Columns of a data file as the table has them: names, types, without deleted rows."""

from collections.abc import Generator, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from daskdl.data.sources.source import SourceOptions
from daskdl.errors import ColumnError, SourceNotFoundError
from daskdl_bridge.listing import Part
from daskdl_bridge.readers.table_reader import TableReader
from daskdl_bridge.tables.deleted_rows import DeletedRows

__all__ = ["DataFileReader"]


@dataclass(frozen=True, kw_only=True)
class DataFileReader(TableReader):
    """Reads columns of some row groups of a data file of a table.

    Parameters
    ----------
    file_reader : TableReader
        For the form of the file.
    stored : mapping of str to str
        By the name of a column of the table, what the file calls it.
    types : mapping of str to pyarrow.DataType
        Of those columns in the table.
    deleted : DeletedRows, optional
        Of the rows that `file_reader` reads.
    """

    file_reader: TableReader
    stored: Mapping[str, str]
    types: Mapping[str, Any]
    deleted: DeletedRows | None = None

    def read_blocks(
        self, part: Part, columns: list[str], options: SourceOptions
    ) -> Generator[Any, None, None]:
        """Yield the rows that count, by the blocks of `file_reader` that have any."""
        is_deleted = None if self.deleted is None else self.deleted.flags()
        # A block without rows has no width that others could be joined to.
        has_rows = is_deleted is not None and not is_deleted.all()
        stored = [self.stored[name] for name in columns]
        done = 0
        with (
            _telling_removed(part.url),
            closing(self.file_reader.read_blocks(part, stored, options)) as blocks,
        ):
            for table in blocks:
                stop = done + table.num_rows
                block = _Block(
                    url=part.url,
                    table=table,
                    stored={name: self.stored[name] for name in columns},
                    types={name: self.types[name] for name in columns},
                    is_kept=None if is_deleted is None else ~is_deleted[done:stop],
                )
                if block.num_rows or not has_rows:
                    yield block
                done = stop


@contextmanager
def _telling_removed(url: str) -> Iterator[None]:
    """Say what removes a data file that was there when the table was opened."""
    try:
        yield
    except SourceNotFoundError as error:
        raise SourceNotFoundError(
            f"{url}: must stay while the table's snapshot is read, it is gone, as "
            "VACUUM or expire_snapshots leaves it. Have them keep files for longer "
            "than the work takes, and start again."
        ) from error


@dataclass(frozen=True, kw_only=True, eq=False)
class _Block:
    """A table whose columns are converted when they are asked for."""

    url: str
    table: Any
    stored: Mapping[str, str]
    types: Mapping[str, Any]
    is_kept: NDArray[np.bool_] | None

    @property
    def num_rows(self) -> int:
        if self.is_kept is None:
            return int(self.table.num_rows)
        return int(np.count_nonzero(self.is_kept))

    @property
    def column_names(self) -> list[str]:
        return list(self.stored)

    @property
    def schema(self) -> Any:
        stored = {field.name: field.type for field in self.table.schema}
        # Arrays and structs stay as they are stored; their numbers are cast later on.
        return pa.schema(
            (name, stored[self.stored[name]] if pa.types.is_nested(kind) else kind)
            for name, kind in self.types.items()
        )

    def column(self, name: str) -> Any:
        column = self.table.column(self.stored[name])
        if self.is_kept is not None:
            column = column.filter(pa.array(self.is_kept))
        kind = self.types[name]
        if column.type == kind or pa.types.is_nested(kind):
            return column
        try:
            return column.cast(kind)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise ColumnError(
                f"{self.url}: column {name!r} must hold {kind} as the table has it, "
                f"got {column.type}: {error}"
            ) from error
