"""Readers of tables, and data sets from the columns of a table."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import DTypeLike, NDArray

from daskdl.checks import some
from daskdl.data.dataset import DataSet
from daskdl.data.examples import checked_features, checked_mask
from daskdl.data.labels import labels_of
from daskdl.data.multi_dataset import MultiDataSet
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

__all__ = ["TablePartition", "TableReader", "whole_files"]


class TableReader(ABC):
    """Reads columns of one part file; picklable, a subclass for each form."""

    @abstractmethod
    def read(self, part: Part, columns: list[str], options: SourceOptions) -> Any:
        """Return a pyarrow.Table with the `columns` that are in the file.

        Raises
        ------
        CorruptFileError
            If the file is cut short or damaged.
        DataError
            If a row cannot be read as what the columns hold.
        """


@dataclass(frozen=True, kw_only=True)
class TablePartition(Partition):
    """A part file, or some row groups of a large one, as examples.

    Parameters
    ----------
    name : str
        URL of the file, with the row groups if it is only some.
    rows : int or None
        Where the form tells without reading all.
    part : Part
        The file.
    reader : TableReader
        How to read it.
    columns : ExampleColumns
        What becomes features, labels and keys.
    options : SourceOptions
        As the user gave them.
    first_row : int
        Number within the file of the first row.
    class_names : tuple of str, optional
        Of the labels, if they are stored.
    """

    name: str
    rows: int | None
    part: Part
    reader: TableReader
    columns: ExampleColumns
    options: SourceOptions
    first_row: int = 0
    class_names: tuple[str, ...] | None = None

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
        values, types = self.part.values, self.part.types
        stored = [name for name in self.columns.all() if name not in values]
        part, storage_options = self.part, self.options.storage_options
        with unchanged(part.url, part.fingerprint, storage_options):
            table = self.reader.read(part, stored, self.options)
        for name in self.columns.all():
            if name in values:
                constant = pa.array([values[name]] * table.num_rows, types[name])
                table = table.append_column(name, constant)
        check_exist(self.columns.all(), table.column_names, self.part.url)
        kinds = {field.name: field.type for field in table.schema}
        check_types(self.columns, kinds, self.part.url)
        return self._examples(table)

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
        keys = None if columns.key is None else _keys(_column(table, columns.key))
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
        blocks = [
            checked_features(
                self._decoded(table, name, options.dtype, is_alone=len(names) == 1),
                name=self.part.url,
                column=name,
                dtype=options.dtype,
                first_row=self.first_row,
            )
            for name in names
        ]
        return checked_features(
            _side_by_side(blocks),
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
        blocks = [self._decoded(table, name, np.float64) for name in names]
        return labels_of(
            blocks[0] if len(blocks) == 1 else _side_by_side(blocks),
            n_classes,
            name=self.part.url,
            column=_joined(names),
            dtype=options.dtype,
            first_row=self.first_row,
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
        column = _column(table, name)
        if is_vector(column.type):
            return decode_vectors(column, place, dtype, self.options.most_part_bytes)
        return _decode(column, place, dtype, n_features)

    def _n_features(self) -> int | None:
        if self.options.feature_shape is not None:
            return int(np.prod(self.options.feature_shape))
        return self.options.n_features


def whole_files(
    parts: Sequence[Part],
    reader: TableReader,
    columns: ExampleColumns,
    options: SourceOptions,
) -> list[TablePartition]:
    """Make a partition of each file of a form that does not tell its number of rows."""
    return [
        TablePartition(
            name=part.url,
            rows=0 if part.size == 0 else None,
            part=part,
            reader=reader,
            columns=columns,
            options=options,
        )
        for part in parts
    ]


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
    place.refuse_nulls(column.is_null().to_numpy(zero_copy_only=False))
    raise ColumnError(f"{place} must hold numbers, got {column.type}.")


def _column(table: Any, name: str) -> Any:
    column = table.column(name).combine_chunks()
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
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _no_features(options: SourceOptions) -> NDArray[Any]:
    shape = options.feature_shape or (options.n_features or 0,)
    return np.zeros((0, *shape), dtype=options.dtype)


def _side_by_side(blocks: list[NDArray[Any]]) -> NDArray[Any]:
    if len(blocks) == 1:
        return blocks[0]
    return np.concatenate([block.reshape(len(block), -1) for block in blocks], axis=1)


def _joined(names: Iterable[str]) -> str:
    listed = list(names)
    return listed[0] if len(listed) == 1 else some(listed).replace("'", "")
