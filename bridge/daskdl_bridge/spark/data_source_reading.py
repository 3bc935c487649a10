"""What daskdl reads as rows of Spark: a partition of it is one of Spark's."""

import inspect
import pickle
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_type, to_arrow_schema
from pyspark.sql.types import StructField, StructType

from daskdl.checks import some
from daskdl.data.dataset import DataSet
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.data.sources.partition import Partition, Source
from daskdl.data.sources.source import open_source
from daskdl.errors import DataError, OptionError
from daskdl_bridge.spark.data_source_options import ReadOptions, read_options
from daskdl_bridge.spark.example_columns import (
    as_arrow_column,
    named_arrays,
    type_of_column,
)
from daskdl_bridge.writers.parquet import to_table

__all__ = [
    "arrow_schema",
    "pickled_partitions",
    "record_batches",
    "schema_of",
]

# Of a record batch: few enough calls, and little memory beside that of the examples.
_BATCH_BYTES = 4 << 20


@dataclass(frozen=True, kw_only=True)
class _RowsOfPartition:
    """A partition, and what its examples become.

    Parameters
    ----------
    partition : Partition
    keys : tuple of str
        Columns of the key.
    dtype : str, optional
        What numbers are cast to; columns of tables are already, minibatches are as
        they were stored.
    """

    partition: Partition
    keys: tuple[str, ...]
    dtype: str | None

    def columns(self, examples: DataSet | MultiDataSet) -> dict[str, Any]:
        """Return keys as Arrow has them, and arrays; None for those not there."""
        arrays = {
            name: array
            if array is None or self.dtype is None
            else array.astype(self.dtype, copy=False)
            for name, array in named_arrays(examples).items()
        }
        return {**self._keys(examples.keys), **arrays}

    def _keys(self, keys: Any) -> dict[str, Any]:
        if keys is None or not self.keys:
            return {}
        each = [keys]
        if len(self.keys) > 1:
            each = [np.empty(len(keys), object) for _ in self.keys]
            for number, values in enumerate(each):
                values[:] = [key[number] for key in keys]
        stored = {
            name: self.partition.stored_keys(values, number)
            for number, (name, values) in enumerate(zip(self.keys, each, strict=True))
        }
        table = to_table(stored)
        return {name: table[name].combine_chunks() for name in self.keys}


def schema_of(given: Mapping[str, str]) -> StructType:
    """Return the schema of the rows, as the first example has it.

    Parameters
    ----------
    given : mapping of str to str
        Options of the reader.

    Raises
    ------
    DataError
        If there is no example, or the first cannot be read.
    OptionError
        If an option is unknown or does not go with the data.
    """
    wanted = read_options(given)
    source = _opened(wanted)
    for rows in _rows(source, wanted):
        for block in rows.partition.load_blocks():
            if block.num_examples:
                return _schema(rows, block, is_minibatch=source.minibatches)
    raise DataError(
        f"{source.name}: must hold an example, so that the types of the columns are "
        "known, got none. Give them with .schema(...)."
    )


def pickled_partitions(given: Mapping[str, str]) -> list[bytes]:
    """Return what `record_batches` takes, for each partition in order.

    Parameters
    ----------
    given : mapping of str to str
        Options of the reader.

    Raises
    ------
    OptionError
        If an option is unknown or does not go with the data.
    """
    wanted = read_options(given)
    return [pickle.dumps(rows) for rows in _rows(_opened(wanted), wanted)]


def record_batches(pickled: bytes | None, schema: StructType) -> Iterator[Any]:
    """Yield the rows of a partition as record batches of a schema.

    Parameters
    ----------
    pickled : bytes, optional
        Of `pickled_partitions`; None, as Spark has it where there are no partitions.
    schema : StructType

    Raises
    ------
    DataError
        If the examples cannot be read, or do not fit the schema.
    """
    if pickled is None:
        return
    rows: _RowsOfPartition = pickle.loads(pickled)
    wanted = arrow_schema(schema)
    for block in rows.partition.load_blocks():
        n_bytes = max(block.nbytes // max(block.num_examples, 1), 1)
        for piece in block.batches(max(_BATCH_BYTES // n_bytes, 1)):
            yield _record_batch(rows, piece, wanted)


def arrow_schema(schema: StructType) -> Any:
    """Return the pyarrow.Schema in which Spark exchanges rows."""
    # Spark 4.3 asks for the time zone, earlier ones have none but UTC.
    has_zone = "timezone" in inspect.signature(to_arrow_schema).parameters
    return to_arrow_schema(schema, **({"timezone": "UTC"} if has_zone else {}))


def _opened(wanted: ReadOptions) -> Source:
    paths = wanted.paths
    return open_source(paths if isinstance(paths, str) else list(paths), wanted.options)


def _rows(source: Source, wanted: ReadOptions) -> Iterator[_RowsOfPartition]:
    key = wanted.options.key
    keys = (key,) if isinstance(key, str) else key or ()
    for partition in source.partitions:
        yield _RowsOfPartition(partition=partition, keys=keys, dtype=wanted.dtype)


def _schema(
    rows: _RowsOfPartition, block: DataSet | MultiDataSet, *, is_minibatch: bool
) -> StructType:
    columns = rows.columns(block)
    taken = set(rows.keys).intersection(named_arrays(block))
    if taken:
        raise OptionError(
            "spark.read.format('daskdl'): key must name columns beside those of "
            f"examples, got {some(sorted(taken))}."
        )
    types = {}
    for name, column in columns.items():
        if isinstance(column, np.ndarray):
            types[name] = type_of_column(column)
        elif column is not None:
            types[name] = column.type
        elif is_minibatch and _masks_series(name, columns):
            # Of series of one length there is no mask, of the next ones there may be.
            types[name] = pa.list_(pa.float32())
    return StructType(
        [
            StructField(name, from_arrow_type(one, prefer_timestamp_ntz=True))
            for name, one in types.items()
        ]
    )


def _masks_series(name: str, columns: Mapping[str, Any]) -> bool:
    """Whether a column is the mask of another, which holds time series."""
    group, _, number = name.partition("_mask")
    masked = {"features": "features", "labels": "label"}.get(group)
    array = columns.get(f"{masked}{number}")
    return array is not None and array.ndim == 3


def _record_batch(
    rows: _RowsOfPartition, examples: DataSet | MultiDataSet, wanted: Any
) -> Any:
    columns = rows.columns(examples)
    there = [name for name, column in columns.items() if column is not None]
    unknown = [name for name in there if name not in wanted.names]
    if unknown:
        raise DataError(
            f"{rows.partition.name}: the schema must have a column for all that is "
            f"read, got {some(unknown)} and the schema {some(wanted.names)}. Give all "
            "columns with .schema(...)."
        )
    arrays = []
    for field in wanted:
        column = columns.get(field.name)
        place = f"{rows.partition.name}: {field.name}"
        if column is None:
            arrays.append(pa.nulls(examples.num_examples, field.type))
        elif isinstance(column, np.ndarray):
            arrays.append(as_arrow_column(column, field.type, place))
        else:
            arrays.append(_cast(column, field.type, place))
    return pa.RecordBatch.from_arrays(arrays, schema=wanted)


def _cast(column: Any, column_type: Any, place: str) -> Any:
    try:
        return column.cast(column_type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise DataError(
            f"{place} must fit {column_type}, as the schema says: {error}"
        ) from error
