"""Rows of Spark as minibatches: what the driver and the tasks of a write do."""

import itertools
import pickle
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import StructType

from daskdl.data.blocks import minibatches_of
from daskdl.data.dataset import DataSet
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.data.sources.source import SourceOptions, open_source
from daskdl.errors import DataError, OptionError
from daskdl_bridge.minibatch_output import MinibatchOutput
from daskdl_bridge.readers.arrays import is_list
from daskdl_bridge.readers.buffers import as_numpy
from daskdl_bridge.spark.data_source_options import write_options
from daskdl_bridge.spark.data_source_reading import arrow_schema

__all__ = ["abort", "commit", "prepared", "written"]

_MASK_OF_SEVERAL = re.compile(r"(features|labels)_mask_\d+")


@dataclass(frozen=True, kw_only=True)
class _Job:
    """What tasks write, and where.

    Parameters
    ----------
    output : MinibatchOutput
    options : SourceOptions
        With the columns.
    batch_size : int
    """

    output: MinibatchOutput
    options: SourceOptions
    batch_size: int


def prepared(given: Mapping[str, str], schema: StructType, *, overwrite: bool) -> bytes:
    """Check a write and make its directory, on the driver.

    Parameters
    ----------
    given : mapping of str to str
        Options of the writer.
    schema : StructType
        Of the rows.
    overwrite : bool
        Replace what is there, or add to it.

    Returns
    -------
    bytes
        For the functions below.

    Raises
    ------
    OptionError
        If an option is unknown or wrong.
    ColumnError
        If a column is not there, or cannot become numbers.
    OutputExistsError
        If something else than minibatches is there.
    """
    wanted = write_options(given)
    table = arrow_schema(schema).empty_table()
    options = _with_default_columns(wanted.options, table.column_names)
    open_source(table, options)
    output = MinibatchOutput(
        url=wanted.url,
        overwrite=overwrite,
        storage_options=wanted.options.storage_options,
    )
    output.prepare()
    return pickle.dumps(
        _Job(output=output, options=options, batch_size=wanted.batch_size)
    )


def written(pickled: bytes, batches: Iterator[Any]) -> list[str]:
    """Write the rows of a partition as minibatches, in a task.

    Parameters
    ----------
    pickled : bytes
        Of `prepared`.
    batches : iterator of pyarrow.RecordBatch

    Returns
    -------
    list of str
        Names of the files, for `commit`.

    Raises
    ------
    DataError
        If a row cannot be used.
    StorageError
        If the store does not take a file.
    """
    job: _Job = pickle.loads(pickled)
    blocks = (
        ("rows of Spark", block)
        for batch in batches
        for block in _examples(batch, job.options)
    )
    cut = minibatches_of(blocks, job.batch_size, job.options.align)  # type: ignore[arg-type]
    return [job.output.write(minibatch) for minibatch in cut]


def commit(pickled: bytes, names: Sequence[str]) -> None:
    """Give the files of tasks that count their names, on the driver."""
    job: _Job = pickle.loads(pickled)
    job.output.commit(names)


def abort(pickled: bytes) -> None:
    """Remove what was written, on the driver."""
    job: _Job = pickle.loads(pickled)
    job.output.abort()


def _with_default_columns(
    options: SourceOptions, names: Sequence[str]
) -> SourceOptions:
    """Return options that name the columns which reading gives, if none are named."""
    changes: dict[str, Any] = {}
    for group in ("features", "label"):
        several = [name for name in names if re.fullmatch(rf"{group}_\d+", name)]
        if getattr(options, group) is None and group not in names and several:
            in_order = sorted(several, key=lambda name: int(name.rpartition("_")[2]))
            changes[group] = {name: name for name in in_order}
    is_labelled = "label" in {*names, *changes} or options.label is not None
    if options.require_labels and not is_labelled:
        raise OptionError(
            "write.format('daskdl'): label must name a column, got None, and there is "
            "no column 'label'. With option('require_labels', 'false') features are "
            "written alone."
        )
    if options.align is None:
        masks = [name for name in ("features_mask", "labels_mask") if name in names]
        changes |= {name: getattr(options, name) or name for name in masks}
    return replace(options, **changes)


def _examples(batch: Any, options: SourceOptions) -> Iterator[DataSet | MultiDataSet]:
    """Yield the examples of a record batch, rows of one shape together."""
    table = pa.Table.from_batches([batch])
    for name in filter(_MASK_OF_SEVERAL.fullmatch, table.column_names):
        if table[name].null_count < len(table):
            raise DataError(
                f"write.format('daskdl'): {name} must be null, since masks of several "
                "inputs or outputs cannot be written, got one. Drop the column."
            )
    for start, stop in _runs(table, options):
        rows = table.slice(start, stop - start)
        for partition in open_source(
            rows, _without_null_masks(rows, options)
        ).partitions:
            yield from partition.load_blocks()


def _without_null_masks(table: Any, options: SourceOptions) -> SourceOptions:
    changes: dict[str, Any] = {
        mask: None
        for mask in ("features_mask", "labels_mask")
        if (name := getattr(options, mask)) and table[name].null_count
    }
    return replace(options, **changes)


def _runs(table: Any, options: SourceOptions) -> Iterator[tuple[int, int]]:
    """Yield the bounds of rows that make one array.

    Minibatches are padded each by itself: where one ends series may become longer, or
    have a mask where there was none.
    """
    facts = []
    for field in table.schema:
        if field.name in (options.features_mask, options.labels_mask):
            facts.append(as_numpy(table[field.name].combine_chunks().is_null()))
        elif options.align is None and _is_nested(field.type):
            facts.append(_steps(table[field.name].combine_chunks()))
    changes = [np.flatnonzero(fact[1:] != fact[:-1]) + 1 for fact in facts]
    bounds = {0, table.num_rows}.union(*(one.tolist() for one in changes))
    return itertools.pairwise(sorted(bounds))


def _is_nested(column_type: Any) -> bool:
    return is_list(column_type) and is_list(column_type.value_type)


def _steps(column: Any) -> Any:
    """Return the length of the first list in each list; 0 if there is none."""
    is_empty = pc.less_equal(pc.fill_null(pc.list_value_length(column), 0), 0)
    filled = column.filter(pc.invert(is_empty))
    lengths = np.zeros(len(column), np.int64)
    first = pc.list_value_length(pc.list_element(filled, 0))
    lengths[~as_numpy(is_empty)] = as_numpy(pc.fill_null(first, 0))
    return lengths
