"""Examples from the columns of a table: features, labels, masks and keys."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import DTypeLike, NDArray

from daskdl.checks import some
from daskdl.data.batch_arrays import keys_side_by_side
from daskdl.data.blocks import BLOCK_BYTES
from daskdl.data.dataset import DataSet
from daskdl.data.examples import checked_features, checked_mask
from daskdl.data.float_type import float_type
from daskdl.data.labels import labels_of
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.data.row_number import RowNumber
from daskdl.data.sources.partition import LoadedRows
from daskdl.data.sources.source import SourceOptions
from daskdl.data.time_series import StepNumber, TimeSeries, padded_arrays
from daskdl.errors import ColumnError
from daskdl_bridge.listing import Part
from daskdl_bridge.readers.arrays import (
    decode_lists,
    decode_numbers,
    is_list,
    is_number,
)
from daskdl_bridge.readers.buffers import as_numpy
from daskdl_bridge.readers.columns import ExampleColumns
from daskdl_bridge.readers.error_location import ErrorLocation
from daskdl_bridge.readers.images import (
    decode_binary,
    decode_image_structs,
    is_binary,
    is_image_struct,
)
from daskdl_bridge.readers.invalid_rows import (
    NumberOfValid,
    invalid_rows,
)
from daskdl_bridge.readers.keys import as_kept
from daskdl_bridge.readers.nested import field_of, type_of
from daskdl_bridge.readers.number_table import NumberTable
from daskdl_bridge.readers.number_types import number_type
from daskdl_bridge.readers.table_rows import TableRows
from daskdl_bridge.readers.text_labels import (
    are_no_classes,
    is_text,
    numbers_of_classes,
)
from daskdl_bridge.readers.time_series import (
    cut_to_fit,
    decode_series,
    side_by_side_series,
)
from daskdl_bridge.readers.vectors import decode_vectors, is_vector

__all__ = ["TableExamples"]

# Columns that are laid side by side at a time: so many float32 fill a line of a cache,
# and memory holds few of them twice.
_A_LINE = 16


@dataclass(frozen=True, kw_only=True)
class TableExamples:
    """Makes examples of tables of a part; the parameters are those of the partition.

    Parameters
    ----------
    part : Part
    columns : ExampleColumns
    options : SourceOptions
    first_row : int or RowNumber
        Number within the file of the first row.
    """

    part: Part
    columns: ExampleColumns
    options: SourceOptions
    first_row: RowNumber = 0

    def pieces(self, table: Any) -> Iterator[Any]:
        """Yield a table, or the pieces in which its time series are to be padded."""
        if self.options.align is None:
            yield table
            return
        names = [name for group in self.columns.features for name in group]
        columns = [self._column(table, name) for name in names]
        pieces = cut_to_fit(columns, self._dtype(table, names).itemsize, BLOCK_BYTES)
        if len(pieces) == 1:
            yield table
            return
        for start, stop in pieces:
            yield TableRows(table, slice(start, stop))

    def rows_of(self, table: Any) -> LoadedRows:
        """Return the examples of a table, and what became of its invalid rows."""
        handling = self.options.handle_invalid
        is_valid = None if handling == "error" else self._are_valid(table)
        if is_valid is None or is_valid.all():
            return self._loaded(self.of(table), table)
        number = NumberOfValid(self.first_row, is_valid)
        valid = TableRows(table, is_valid)
        examples = replace(self, first_row=number).of(valid)
        if handling == "skip":
            skipped = table.num_rows - examples.num_examples
            return self._loaded(examples, valid, skipped=skipped)
        return self._loaded(examples, table, is_valid=is_valid)

    def of(self, table: Any) -> DataSet | MultiDataSet:
        """Return the examples of a table whose columns can be used."""
        columns = self.columns
        keys = self._keys(table)
        if self.options.align is not None:
            return self._aligned(table, self.options.align, keys)
        features = [self._features(table, group) for group in columns.features]
        labels = [
            self._labels(table, group, self.options.classes_of(index))
            for index, group in enumerate(columns.labels)
        ]
        if columns.is_multi:
            return MultiDataSet(features, labels, keys=keys)
        return DataSet(
            features[0],
            labels[0] if labels else None,
            self._mask(table, columns.features_mask),
            self._mask(table, columns.labels_mask),
            keys=keys,
        )

    def _loaded(self, examples: Any, table: Any, **invalid: Any) -> LoadedRows:
        """Return examples with the keys and further columns of a table."""
        kept = {
            name: as_kept(
                self._column(table, name),
                kept_type,
                ErrorLocation(self.part.url, name, self.first_row),
            )
            for name, kept_type in zip(
                self.columns.kept, self.columns.kept_types, strict=True
            )
        }
        is_all = invalid.get("is_valid") is None
        keys = examples.keys if is_all else self._keys(table)
        return LoadedRows(examples, keys=keys, columns=kept, **invalid)

    def _are_valid(self, table: Any) -> NDArray[np.bool_]:
        """Tell which rows can become examples, of shape (rows,)."""
        columns, options = self.columns, self.options
        is_aligned = options.align is not None
        is_valid = np.ones(table.num_rows, np.bool_)
        for index, group in enumerate(columns.features):
            as_series = is_aligned and options.is_series("features", index) is not False
            dtype = self._dtype(table, group)
            for name in group:
                column = self._column(table, name)
                is_valid &= ~invalid_rows(column, dtype, as_series=as_series)
        for index, group in enumerate(columns.labels):
            as_series = is_aligned and options.is_series("labels", index) is not False
            n_classes = options.classes_of(index) if len(group) == 1 else None
            for name in group:
                column = self._column(table, name)
                if self._is_class(name, column):
                    is_valid &= ~are_no_classes(column, options.class_names or ())
                    continue
                is_valid &= ~invalid_rows(
                    column, np.float64, n_classes=n_classes, as_series=as_series
                )
        for mask in (columns.features_mask, columns.labels_mask):
            if mask is not None:
                column = self._column(table, mask)
                dtype = self._dtype(table, [mask])
                is_valid &= ~invalid_rows(column, dtype, as_series=False)
        return is_valid

    def _keys(self, table: Any) -> NDArray[Any] | None:
        keys = [_as_keys(self._column(table, key)) for key in self.columns.keys]
        return keys_side_by_side(keys)

    def _column(self, table: Any, name: str) -> Any:
        """Return a column of the table, or of the file's path, as a pyarrow.Array."""
        column = self.columns.holding(name)
        if column not in self.part.values:
            return field_of(_in_one(table.column(column)), name, column)
        constant = [self.part.values[column]] * table.num_rows
        return field_of(pa.array(constant, self.part.types[column]), name, column)

    def _aligned(self, table: Any, align: Any, keys: Any) -> DataSet | MultiDataSet:
        """Return the examples of a table with padded time series."""
        columns, options = self.columns, self.options
        features = [
            self._features(table, group)
            if options.is_series("features", index) is False
            else self._series(table, group, options.data_format("features", index))
            for index, group in enumerate(columns.features)
        ]
        labels = [
            self._series_labels(table, group, index)
            for index, group in enumerate(columns.labels)
        ]
        made = padded_arrays(
            self.part.url,
            features,
            labels,
            align=align,
            at_last_step=[
                options.data_format("labels", index)
                if options.is_series("labels", index)
                else None
                for index in range(len(labels))
            ],
            first_row=self.first_row,
            most_bytes=options.most_part_bytes,
        )
        if columns.is_multi:
            return MultiDataSet(**vars(made), keys=keys)
        return DataSet(
            made.features[0],
            made.labels[0] if labels else None,
            made.features_masks[0],
            made.labels_masks[0] if labels else None,
            keys=keys,
        )

    def _series(
        self, table: Any, names: tuple[str, ...], data_format: str
    ) -> TimeSeries:
        """Return columns of arrays of steps, whose features stand side by side."""
        options, dtype = self.options, self._dtype(table, names)
        if not table.num_rows:
            none = _no_features(options, dtype)
            return TimeSeries(none, np.zeros(0, np.int64), data_format)
        series = self._joined_series(table, names, dtype)
        steps = checked_features(
            series.steps,
            name=self.part.url,
            column=_joined(names),
            n_features=options.n_features,
            dtype=dtype,
            first_row=StepNumber(series.lengths, self.first_row),
        )
        return replace(series, steps=steps, data_format=data_format)

    def _series_labels(
        self, table: Any, names: tuple[str, ...], index: int
    ) -> TimeSeries | NDArray[Any]:
        """Return labels of each step, or of each example if they are no arrays."""
        n_classes = self.options.classes_of(index)
        is_series = self.options.is_series("labels", index)
        are_lists = all(is_list(self._column(table, name).type) for name in names)
        if is_series is False or not (are_lists and table.num_rows):
            return self._labels(table, names, n_classes)
        series = self._joined_series(table, names, np.float64)
        steps = labels_of(
            series.steps,
            n_classes,
            name=self.part.url,
            column=_joined(names),
            dtype=self._dtype(table, names),
            first_row=StepNumber(series.lengths, self.first_row),
        )
        data_format = self.options.data_format("labels", index)
        return replace(series, steps=steps, data_format=data_format)

    def _joined_series(
        self, table: Any, names: tuple[str, ...], dtype: DTypeLike
    ) -> TimeSeries:
        most_bytes = self.options.most_part_bytes
        places = [ErrorLocation(self.part.url, name, self.first_row) for name in names]
        columns = (self._column(table, place.column) for place in places)
        series = [
            decode_series(column, place, dtype, most_bytes)
            for column, place in zip(columns, places, strict=True)
        ]
        return side_by_side_series(series, names, places[0])

    def _features(self, table: Any, names: tuple[str, ...]) -> NDArray[Any]:
        options, dtype = self.options, self._dtype(table, names)
        if not table.num_rows:
            return _no_features(options, dtype)
        is_laid = isinstance(table, NumberTable)
        rows = table.finite_rows(names, dtype) if is_laid else None
        return checked_features(
            self._laid_out(table, names, dtype) if rows is None else rows,
            name=self.part.url,
            column=_joined(names),
            n_features=options.n_features,
            feature_shape=options.feature_shape,
            dtype=dtype,
            first_row=self.first_row,
            are_finite=rows is not None,
        )

    def _laid_out(
        self, table: Any, names: tuple[str, ...], dtype: DTypeLike
    ) -> NDArray[Any]:
        """Return columns of features side by side, each of them checked."""
        blocks = (
            checked_features(
                self._decoded(table, name, dtype, is_alone=len(names) == 1),
                name=self.part.url,
                column=name,
                dtype=dtype,
                first_row=self.first_row,
            )
            for name in names
        )
        return self._joined(table, names, blocks)

    def _labels(
        self, table: Any, names: tuple[str, ...], n_classes: int | None
    ) -> NDArray[Any]:
        dtype = self._dtype(table, names)
        if not table.num_rows:
            return np.zeros((0, n_classes or len(names)), dtype)
        blocks = (self._decoded_label(table, name) for name in names)
        return labels_of(
            self._joined(table, names, blocks),
            n_classes,
            name=self.part.url,
            column=_joined(names),
            dtype=dtype,
            first_row=self.first_row,
        )

    def _is_class(self, name: str, column: Any) -> bool:
        """Tell whether a column of the labels holds names of classes."""
        is_class = name == self.columns.class_column(self.options)
        return is_class and is_text(column.type)

    def _decoded_label(self, table: Any, name: str) -> NDArray[Any]:
        column = self._column(table, name)
        if not self._is_class(name, column):
            return self._decoded(table, name, np.float64)
        place = ErrorLocation(self.part.url, name, self.first_row)
        return numbers_of_classes(column, self.options.class_names or (), place)

    def _joined(
        self, table: Any, names: tuple[str, ...], columns: Iterator[NDArray[Any]]
    ) -> NDArray[Any]:
        are_numbers = all(map(is_number, self._types(table, names)))
        return _side_by_side(columns, len(names), are_numbers=are_numbers)

    def _types(self, table: Any, names: Iterable[str]) -> list[Any]:
        types = {field.name: field.type for field in table.schema} | self.part.types
        return [type_of(name, types) for name in names]

    def _dtype(self, table: Any, names: Sequence[str]) -> np.dtype[Any]:
        """Return what the numbers of columns that stand side by side are cast to."""
        return float_type(self.options.dtype, self._stored(table, names))

    def _stored(self, table: Any, names: Sequence[str]) -> Iterator[np.dtype[Any]]:
        """Yield the types of the numbers in columns, found when they are asked for."""
        if len(names) == 1 and self._holds_doubles(table, *names):
            yield np.dtype(np.float64)
        else:
            yield from map(number_type, self._types(table, names))

    def _holds_doubles(self, table: Any, name: str) -> bool:
        """Tell whether a column is of bytes, 8 for each number that was announced."""
        (kind,), n_features = self._types(table, [name]), self._n_features()
        if not (table.num_rows and n_features and is_binary(kind)):
            return False
        return len(self._column(table, name)[0].as_py() or b"") == 8 * n_features

    def _mask(self, table: Any, name: str | None) -> NDArray[Any] | None:
        if name is None:
            return None
        dtype = self._dtype(table, [name])
        return checked_mask(
            self._decoded(table, name, dtype),
            name=self.part.url,
            column=name,
            dtype=dtype,
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
    if column.num_chunks > 1:
        column = column.combine_chunks()
    # Of one chunk that would be a copy; of many it may be a chunk again.
    if isinstance(column, pa.ChunkedArray):
        column = column.chunk(0) if column.num_chunks else pa.nulls(0, column.type)
    if pa.types.is_dictionary(column.type):
        return column.dictionary_decode()
    return column


def _as_keys(column: Any) -> NDArray[Any]:
    # Integers with nulls would turn to floats, and structs must stay as they are.
    if column.null_count or pa.types.is_nested(column.type):
        keys = np.empty(len(column), dtype=object)
        # One by one: NumPy takes lists of one length for a matrix.
        for row, key in enumerate(column.to_pylist()):
            keys[row] = key
        return keys
    return np.asarray(as_numpy(column))


def _no_features(options: SourceOptions, dtype: DTypeLike) -> NDArray[Any]:
    shape = options.feature_shape or (options.n_features or 0,)
    return np.zeros((0, *shape), dtype)


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
    joined = np.empty((len(first), n_columns), first.dtype)
    flat = (column.reshape(-1) for column in chain([first], columns))
    for start in range(0, n_columns, _A_LINE):
        side = np.stack(list(islice(flat, _A_LINE)), axis=0)
        joined[:, start : start + len(side)] = side.T
    return joined


def _joined(names: Iterable[str]) -> str:
    listed = list(names)
    return listed[0] if len(listed) == 1 else some(listed).replace("'", "")
