"""How DataFrames, RDDs, and what was handed over of them are opened."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from daskdl.data.sources.partition import Source
from daskdl.data.sources.row_options import TABLE_OPTIONS
from daskdl.data.sources.source import SourceOptions
from daskdl.data.sources.unused_options import (
    COLUMN_OPTIONS,
    refuse_given,
    refuse_unused,
    without_options,
)
from daskdl.errors import OptionError
from daskdl_bridge.element_kinds import ElementKind
from daskdl_bridge.listing import Part
from daskdl_bridge.readers.columns import resolve_columns
from daskdl_bridge.source import PathSources
from daskdl_bridge.spark.block_source import open_blocks
from daskdl_bridge.spark.direct import DirectData, direct
from daskdl_bridge.spark.export import Export, exported
from daskdl_bridge.spark.frame_partitions import frame_source
from daskdl_bridge.spark.kinds import is_frame, is_rdd
from daskdl_bridge.spark.rdd_kinds import kind_of_rdd
from daskdl_bridge.spark.returned import ReturnedFrame, ReturnedPairs

__all__ = ["handed_over", "heeds", "opened", "returned"]

# Of DataFrames and RDDs that Spark has not handed over yet.
_OF_LIVE = ("rdd_training_approach", "export_directory")


def opened(data: Any, options: SourceOptions) -> Source:
    """Have Spark write the data, and open what it wrote; see `SparkSources.open`."""
    if is_rdd(data) and kind_of_rdd(data) is ElementKind.PATHS:
        return PathSources().open(data.collect(), options)
    _check_options(data, options)
    if options.rdd_training_approach == "direct":
        raise OptionError(
            "SparkSources: rdd_training_approach must be 'export' where data are "
            "opened without workers, got 'direct'. Give them to a front end such as "
            "daskdl.DaskMultiLayer, or to daskdl.spark.direct."
        )
    read = _of_what_is_there(options)
    if isinstance(data, DirectData):
        if data.form != "columns":
            _refuse_columns(data, options)
        return data.open(_reaching(data, read))
    there = data if isinstance(data, Export) else _exported(data, options)
    read = _reaching(there, read)
    if there.form == "columns":
        return frame_source(there, read)
    _refuse_columns(there, options)
    is_minibatches = there.form == "minibatches"
    return open_blocks(
        there.url, there.called, read, minibatches=is_minibatches, keys=there.keys
    )


def heeds(data: Any) -> tuple[str, ...]:
    """Return the options that a training master gives; see `SparkSources.heeds`."""
    is_live = is_frame(data) or (
        is_rdd(data) and kind_of_rdd(data) is not ElementKind.PATHS
    )
    return _OF_LIVE if is_live else ()


@contextmanager
def handed_over(
    data: Any, options: SourceOptions, client: Any
) -> Iterator[tuple[Any, SourceOptions]]:
    """Bring data to the workers; see `SparkSources.handed_over`."""
    if options.rdd_training_approach != "direct" or not heeds(data):
        yield data, options
        return
    _check_options(data, options)
    with direct(
        data,
        client,
        columns=_columns(data, options),
        export_directory=options.export_directory,
        storage_options=options.storage_options,
    ) as there:
        yield there, _of_what_is_there(options)


def returned(data: Any, options: SourceOptions) -> ReturnedFrame | ReturnedPairs | None:
    """Return how predictions come back; see `SparkSources.returned`."""
    is_pairs = is_rdd(data) and kind_of_rdd(data) is ElementKind.PAIRS
    if not is_frame(data) and not is_pairs:
        return None
    if options.rdd_training_approach == "direct":
        raise OptionError(
            "feed_forward_with_key: rdd_training_approach must be 'export' for "
            "predictions that Spark reads, which come by files, got 'direct'. Leave it "
            "out, or give output."
        )
    there = _of_what_is_there(options)
    if is_pairs:
        written = _exported(data, options)
        return ReturnedPairs(data, written, there)
    # All columns are written: refuse a wrong name before Spark begins.
    _columns(data, replace(options, key=None, keep=None, require_labels=False))
    return ReturnedFrame(data, options.export_directory, there)


def _check_options(data: Any, options: SourceOptions) -> None:
    refuse_unused("SparkSources", "Spark's data", options, _heeded(data))
    refuse_given("SparkSources", "Spark's data", options, ["format"])


def _heeded(data: Any) -> tuple[str, ...]:
    """Return the options of stored forms that mean something for the data."""
    return (*heeds(data), *(TABLE_OPTIONS if _is_table(data) else ()))


def _is_table(data: Any) -> bool:
    if isinstance(data, Export | DirectData):
        return data.form == "columns"
    return is_frame(data) or kind_of_rdd(data) is ElementKind.ROWS


def _of_what_is_there(options: SourceOptions) -> SourceOptions:
    return replace(options, **without_options(options, _OF_LIVE))


def _reaching(data: Export | DirectData, options: SourceOptions) -> SourceOptions:
    """Return options that reach the store where the data are."""
    if not data.storage_options or options.storage_options:
        return options
    return replace(options, storage_options=data.storage_options)


def _exported(data: Any, options: SourceOptions) -> Export:
    columns = _columns(data, options)
    return exported(data, options.export_directory, columns, options.storage_options)


def _columns(data: Any, options: SourceOptions) -> list[str] | None:
    """Return the columns of a DataFrame that are read; None for an RDD."""
    if not is_frame(data):
        return None
    part = Part(url="Spark DataFrame")
    return resolve_columns(options, data.columns, part, has_structs=True).stored()


def _refuse_columns(there: Export | DirectData, options: SourceOptions) -> None:
    what = f"a {there.name}, which has no columns"
    refuse_given("SparkSources", what, options, COLUMN_OPTIONS)
