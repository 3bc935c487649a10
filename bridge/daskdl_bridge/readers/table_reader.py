"""Readers of tables, and data sets from the columns of a table."""

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable, Iterator
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import DTypeLike, NDArray

from daskdl.checks import some
from daskdl.data.blocks import joined_examples
from daskdl.data.dataset import DataSet
from daskdl.data.examples import checked_features, checked_mask
from daskdl.data.labels import labels_of
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.data.row_number import RowNumber
from daskdl.data.sources.partition import Partition
from daskdl.data.sources.source import SourceOptions
from daskdl.errors import ColumnError
from daskdl_bridge.fingerprint import unchanged
from daskdl_bridge.listing import Part
from daskdl_bridge.readers.arrays import (
    decode_lists,
    decode_numbers,
    is_list,
    is_number,
)
from daskdl_bridge.readers.buffers import as_numpy
from daskdl_bridge.readers.columns import ExampleColumns, check_exist, check_types
from daskdl_bridge.readers.error_location import ErrorLocation
from daskdl_bridge.readers.images import (
    decode_binary,
    decode_image_structs,
    is_binary,
    is_image_struct,
)
from daskdl_bridge.readers.keys import as_stored
from daskdl_bridge.readers.vectors import decode_vectors, is_vector

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

    def __getstate__(self) -> dict[str, Any]:
        # They are asked for where the source is opened, and may be thousands.
        return {**self.__dict__, "class_names": None}

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
        return joined_examples(blocks, [self.name] * len(blocks))

    def load_blocks(self) -> Iterator[DataSet | MultiDataSet]:
        """Read the file by blocks; see `load`.

        Yields
        ------
        DataSet or MultiDataSet
            Row groups of Parquet and stripes of ORC, or parts of those, or some of the
            records, files or compressed lines; other forms are read as a whole.
        """
        tables = self.reader.read_blocks(self.part, self._stored(), self.options)
        try:
            yield from self._blocks(tables)
        finally:
            # What was read was read, however a file that goes away is closed.
            with suppress(OSError):
                tables.close()

    def _blocks(self, tables: Iterator[Any]) -> Iterator[DataSet | MultiDataSet]:
        done = 0
        while True:
            # Each before it is trained on, and not when all are.
            with self._unchanged():
                table = next(tables, None)
                if table is None:
                    return
                here = replace(self, first_row=self.first_row + done) if done else self
                examples = here._checked(table)
            yield examples
            done += table.num_rows

    def _stored(self) -> list[str]:
        """Return the columns that are in the file, and not in its path."""
        return [one for one in self.columns.all() if one not in self.part.values]

    def _unchanged(self) -> AbstractContextManager[None]:
        part = self.part
        return unchanged(part.url, part.fingerprint, self.options.storage_options)

    def _checked(self, table: Any) -> DataSet | MultiDataSet:
        """Return the examples of a table whose columns can be used."""
        check_exist(self._stored(), table.column_names, self.part.url)
        kinds = {field.name: field.type for field in table.schema}
        check_types(self.columns, {**kinds, **self.part.types}, self.part.url)
        return self._examples(table)

    def _column(self, table: Any, name: str) -> Any:
        """Return a column of the table, or of the file's path, as a pyarrow.Array."""
        if name not in self.part.values:
            return _in_one(table.column(name))
        constant = [self.part.values[name]] * table.num_rows
        return pa.array(constant, self.part.types[name])

    def stored_keys(self, keys: Any) -> Any:
        """Return keys as a pyarrow.Array of the type that all files share.

        Raises
        ------
        ColumnError
            If a key does not fit that type.
        """
        key, key_type = self.columns.key, self.columns.key_type
        if keys is None or key is None or key_type is None:
            return keys
        return as_stored(
            keys, key_type, ErrorLocation(self.part.url, key, self.first_row)
        )

    def _examples(self, table: Any) -> DataSet | MultiDataSet:
        columns = self.columns
        features = [self._features(table, group) for group in columns.features]
        labels = [
            self._labels(table, group, self.options.classes_of(index))
            for index, group in enumerate(columns.labels)
        ]
        keys = None if columns.key is None else _keys(self._column(table, columns.key))
        if columns.is_multi:
            return MultiDataSet(features, labels, keys=keys)
        return DataSet(
            features[0],
            labels[0] if labels else None,
            self._mask(table, columns.features_mask),
            self._mask(table, columns.labels_mask),
            keys=keys,
        )

    def _features(self, table: Any, names: tuple[str, ...]) -> NDArray[Any]:
        options = self.options
        if not table.num_rows:
            return _no_features(options)
        blocks = (
            checked_features(
                self._decoded(table, name, options.dtype, is_alone=len(names) == 1),
                name=self.part.url,
                column=name,
                dtype=options.dtype,
                first_row=self.first_row,
            )
            for name in names
        )
        return checked_features(
            self._joined(table, names, blocks),
            name=self.part.url,
            column=_joined(names),
            n_features=options.n_features,
            feature_shape=options.feature_shape,
            dtype=options.dtype,
            first_row=self.first_row,
        )

    def _labels(
        self, table: Any, names: tuple[str, ...], n_classes: int | None
    ) -> NDArray[Any]:
        options = self.options
        if not table.num_rows:
            return np.zeros((0, n_classes or len(names)), dtype=options.dtype)
        blocks = (self._decoded(table, name, np.float64) for name in names)
        return labels_of(
            self._joined(table, names, blocks),
            n_classes,
            name=self.part.url,
            column=_joined(names),
            dtype=options.dtype,
            first_row=self.first_row,
        )

    def _joined(
        self, table: Any, names: tuple[str, ...], columns: Iterator[NDArray[Any]]
    ) -> NDArray[Any]:
        types = {field.name: field.type for field in table.schema}
        kinds = [types.get(name) or self.part.types[name] for name in names]
        return _side_by_side(
            columns, len(names), are_numbers=all(map(is_number, kinds))
        )

    def _mask(self, table: Any, name: str | None) -> NDArray[Any] | None:
        if name is None:
            return None
        return checked_mask(
            self._decoded(table, name, self.options.dtype),
            name=self.part.url,
            column=name,
            dtype=self.options.dtype,
            first_row=self.first_row,
        )

    def _decoded(
        self, table: Any, name: str, dtype: DTypeLike, *, is_alone: bool = False
    ) -> NDArray[Any]:
        place = ErrorLocation(self.part.url, name, self.first_row)
        # Only alone does a column hold all the features that were announced.
        n_features = self._n_features() if is_alone else None
        column = self._column(table, name)
        if is_vector(column.type):
            return decode_vectors(column, place, dtype, self.options.most_part_bytes)
        return _decode(column, place, dtype, n_features)

    def _n_features(self) -> int | None:
        if self.options.feature_shape is not None:
            return int(np.prod(self.options.feature_shape))
        return self.options.n_features


def _decode(
    column: Any, place: ErrorLocation, dtype: DTypeLike, n_features: int | None
) -> NDArray[Any]:
    if is_list(column.type):
        return decode_lists(column, place, dtype)
    if is_number(column.type):
        return decode_numbers(column, place, dtype)
    if is_image_struct(column.type):
        return decode_image_structs(column, place)
    if is_binary(column.type):
        return decode_binary(column, place, n_features)
    # A column of nothing but null has no type of its own in JSON files.
    place.refuse_nulls(as_numpy(column.is_null()))
    raise ColumnError(f"{place} must hold numbers, got {column.type}.")


def _in_one(column: Any) -> Any:
    """Return a column as one array of plain values."""
    column = column.combine_chunks()
    if isinstance(column, pa.ChunkedArray):
        column = column.chunk(0) if column.num_chunks else pa.nulls(0, column.type)
    if pa.types.is_dictionary(column.type):
        return column.dictionary_decode()
    return column


def _keys(column: Any) -> NDArray[Any]:
    # Integers with nulls would turn to floats, and structs must stay as they are.
    if column.null_count or pa.types.is_nested(column.type):
        keys = np.empty(len(column), dtype=object)
        # One by one: NumPy takes lists of one length for a matrix.
        for row, key in enumerate(column.to_pylist()):
            keys[row] = key
        return keys
    return np.asarray(as_numpy(column))


def _no_features(options: SourceOptions) -> NDArray[Any]:
    shape = options.feature_shape or (options.n_features or 0,)
    return np.zeros((0, *shape), dtype=options.dtype)


def _side_by_side(
    columns: Iterator[NDArray[Any]], n_columns: int, *, are_numbers: bool
) -> NDArray[Any]:
    """Return columns as one array of shape (rows, width)."""
    first = next(columns)
    if n_columns == 1:
        return first
    if not are_numbers:
        each = chain([first], columns)
        return np.concatenate([one.reshape(len(one), -1) for one in each], axis=1)
    # One after the other, so that memory holds them once.
    joined = np.empty((len(first), n_columns), first.dtype)
    for index, column in enumerate(chain([first], columns)):
        joined[:, index] = column.reshape(-1)
    return joined


def _joined(names: Iterable[str]) -> str:
    listed = list(names)
    return listed[0] if len(listed) == 1 else some(listed).replace("'", "")
