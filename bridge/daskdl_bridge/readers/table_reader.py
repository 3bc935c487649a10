"""Readers of tables, and partitions of them."""

from abc import ABC, abstractmethod
from collections.abc import Generator, Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, cast

import pyarrow as pa

from daskdl.data.blocks import joined_examples
from daskdl.data.dataset import DataSet
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.data.row_number import RowNumber
from daskdl.data.sources.partition import LoadedRows, Partition
from daskdl.data.sources.source import SourceOptions
from daskdl.data.time_series import Alignment
from daskdl_bridge.fingerprint import unchanged
from daskdl_bridge.listing import Part
from daskdl_bridge.readers.columns import ExampleColumns, check_exist, check_types
from daskdl_bridge.readers.error_location import ErrorLocation
from daskdl_bridge.readers.keys import as_stored
from daskdl_bridge.readers.table_examples import TableExamples

__all__ = ["TablePartition", "TableReader", "WholeReader"]


class TableReader(ABC):
    """Reads columns of one part file; picklable, a subclass for each form."""

    @abstractmethod
    def read_blocks(
        self, part: Part, columns: list[str], options: SourceOptions
    ) -> Generator[Any, None, None]:
        """Yield the rows in order, as tables of what memory holds, at least one.

        Yields
        ------
        pyarrow.Table
            Or what has its `num_rows`, `schema`, `column_names` and `column(name)`: the
            `columns` that are in the file.

        Raises
        ------
        CorruptFileError
            If the file is cut short or damaged.
        DataError
            If a row cannot be read as what the columns hold.
        """


class WholeReader(TableReader):
    """Reads a part file, or a piece of one, in one table."""

    @abstractmethod
    def read(self, part: Part, columns: list[str], options: SourceOptions) -> Any:
        """Return a pyarrow.Table; raise as `read_blocks`."""

    def read_blocks(
        self, part: Part, columns: list[str], options: SourceOptions
    ) -> Generator[Any, None, None]:
        """Yield the one table; see `TableReader.read_blocks`."""
        yield self.read(part, columns, options)


@dataclass(frozen=True, kw_only=True)
class TablePartition(Partition):
    """A part file, or a piece of a large one, as examples.

    Parameters
    ----------
    name : str
        URL of the file, with the row groups or bytes if it is only some.
    rows : int or None
        Where the form tells without reading all.
    part : Part
        The file, or the bytes of it in which the lines begin that count.
    reader : TableReader
        How to read it.
    columns : ExampleColumns
        What becomes features, labels and keys.
    options : SourceOptions
        As the user gave them.
    first_row : int or RowNumber
        Number within the file of the first row.
    class_names : tuple of str, optional
        Of the labels, if they are stored.
    too_large : str
        See `Partition`.
    """

    name: str
    rows: int | None
    part: Part
    reader: TableReader
    columns: ExampleColumns
    options: SourceOptions
    first_row: RowNumber = 0
    class_names: tuple[str, ...] | None = None
    too_large: str = ""

    @property
    def align(self) -> Alignment | None:  # type: ignore[override]
        """Alignment of the time series, as the options say."""
        return cast("Alignment | None", self.options.align)

    @property
    def kept(self) -> tuple[str, ...]:  # type: ignore[override]
        """Columns that stand beside predictions, as the options say."""
        return self.columns.kept

    def __post_init__(self) -> None:
        if self.options.handle_invalid == "skip":
            # Only reading tells how many rows become examples.
            object.__setattr__(self, "rows", None)

    def __getstate__(self) -> dict[str, Any]:
        # They are asked for where the source is opened, and may be thousands.
        return {**self.__dict__, "class_names": None}

    def held_keys(self) -> tuple[Hashable, ...]:
        """Return those that its reader takes out of workers' memory."""
        graph = getattr(self.reader, "graph", None)
        return () if graph is None else tuple(graph.persisted)

    def load(self) -> DataSet | MultiDataSet:
        """Read the file and make examples of its rows, in stored order.

        Raises
        ------
        ChangedFileError
            If the file was rewritten since it was listed.
        CorruptFileError
            If the file is cut short or damaged.
        ColumnError
            If a column is missing, or has the wrong type or width.
        DataError
            If a row is null, ragged, not finite, or no class; with column and row.
        """
        blocks = list(self.load_blocks())
        return joined_examples(blocks, [self.name] * len(blocks), self.align)

    def load_blocks(self) -> Iterator[DataSet | MultiDataSet]:
        """Read the file by blocks; see `load`.

        Yields
        ------
        DataSet or MultiDataSet
            Row groups of Parquet and stripes of ORC, or parts of those, or some of the
            records, files or compressed lines; other forms are read as a whole.
        """
        yield from (rows.examples for rows in self.load_rows())

    def load_rows(self) -> Iterator[LoadedRows]:
        """Read the file by blocks, and tell of all rows; see `load`."""
        tables = self.reader.read_blocks(self.part, self._stored(), self.options)
        try:
            yield from self._blocks(tables)
        finally:
            # What was read was read, however a file that goes away is closed.
            with suppress(OSError):
                tables.close()

    def _blocks(self, tables: Iterator[Any]) -> Iterator[LoadedRows]:
        pieces = self._pieces(tables)
        listed = self.part.fingerprint
        while True:
            # Each before it is trained on, and not when all are.
            with unchanged(self.part.url, listed, self.options.storage_options):
                found = next(pieces, None)
                if found is None:
                    return
                first, piece = found
                rows = self._examples(first).rows_of(piece)
            listed = listed and listed.without_tail()
            yield rows

    def _pieces(self, tables: Iterator[Any]) -> Iterator[tuple[int, Any]]:
        """Yield tables that make a block each, and how many rows come before."""
        done, schema = 0, None
        for table in tables:
            if schema is None or not table.schema.equals(schema):
                schema = table.schema
                self._check_columns(table)
            for piece in self._examples(done).pieces(table):
                yield done, piece
                done += piece.num_rows

    def _stored(self) -> list[str]:
        """Return the columns that are in the file, and not in its path."""
        stored = self.columns.stored()
        return [one for one in stored if one not in self.part.values]

    def _check_columns(self, table: Any) -> None:
        """Refuse a table whose columns cannot be used."""
        check_exist(self._stored(), table.column_names, self.part.url)
        kinds = {field.name: field.type for field in table.schema}
        check_types(
            self.columns, {**kinds, **self.part.types}, self.part.url, self.options
        )

    def _examples(self, done: int) -> TableExamples:
        """Return what makes examples of rows that come behind some others."""
        return TableExamples(
            part=self.part,
            columns=self.columns,
            options=self.options,
            first_row=self.first_row + done if done else self.first_row,
        )

    def stored_keys(self, keys: Any, number: int = 0) -> Any:
        """Return keys as a pyarrow.Array of the type that all files share.

        Raises
        ------
        ColumnError
            If a key does not fit that type.
        """
        columns = self.columns
        if keys is None or number >= len(columns.key_types):
            return keys
        place = ErrorLocation(self.part.url, columns.keys[number], self.first_row)
        return as_stored(keys, columns.key_types[number], place)

    def kept_columns(self, blocks: Sequence[Any]) -> Mapping[str, Any]:
        """Return columns that are kept as chunked arrays of pyarrow, by name."""
        return {
            name: pa.chunked_array([block[name] for block in blocks], kept_type)
            for name, kept_type in zip(
                self.columns.kept, self.columns.kept_types, strict=True
            )
        }
