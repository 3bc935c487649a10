"""A reader of rows that messages call by another name than that of their file."""

from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from daskdl.data.sources.source import SourceOptions
from daskdl_bridge.fingerprint import unchanged
from daskdl_bridge.listing import Part
from daskdl_bridge.readers.table_reader import TableReader

__all__ = ["ReaderAt"]


@dataclass(frozen=True)
class ReaderAt(TableReader):
    """Reads a part, whatever the part is called in messages.

    Parameters
    ----------
    reader : TableReader
    stored : Part
        Where the rows are.
    """

    reader: TableReader
    stored: Part

    def read_blocks(
        self, part: Part, columns: list[str], options: SourceOptions
    ) -> Generator[Any, None, None]:
        """Yield the tables; see `TableReader.read_blocks`."""
        with closing(self.reader.read_blocks(self.stored, columns, options)) as tables:
            while (table := self._next(tables, options)) is not None:
                yield table

    def _next(self, tables: Iterator[Any], options: SourceOptions) -> Any:
        if self.stored.fingerprint is None:
            return next(tables, None)
        url, listed = self.stored.url, self.stored.fingerprint
        with unchanged(url, listed, options.storage_options):
            return next(tables, None)
