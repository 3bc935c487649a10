"""How DataFrames, RDDs, and what was handed over of them are opened."""

from dataclasses import replace
from typing import Any

from daskdl.data.sources.partition import Source
from daskdl.data.sources.row_options import TABLE_OPTIONS
from daskdl.data.sources.source import SourceOptions
from daskdl.data.sources.unused_options import refuse_unused
from daskdl.errors import OptionError
from daskdl_bridge.listing import Part
from daskdl_bridge.readers.columns import resolve_columns
from daskdl_bridge.source import PathSources
from daskdl_bridge.spark.block_source import open_blocks
from daskdl_bridge.spark.direct import DirectData
from daskdl_bridge.spark.export import Export, exported
from daskdl_bridge.spark.kinds import is_frame, is_rdd
from daskdl_bridge.spark.rdd_kinds import RddKind, kind_of_rdd
from daskdl_bridge.spark.returned import ReturnedFrame, ReturnedPairs

__all__ = ["opened", "returned"]

_OF_ALL = ("export_directory",)
_OF_FRAMES = (*_OF_ALL, *TABLE_OPTIONS)

_COLUMN_OPTIONS = ("features", "label", "key", "features_mask", "labels_mask")


def opened(data: Any, options: SourceOptions) -> Source:
    """Have Spark write the data, and open what it wrote; see `SparkSources.open`."""
    heeded = _heeded(data)
    refuse_unused("SparkSources", "Spark's data", options, heeded)
    if options.format is not None:
        raise OptionError(
            "SparkSources: format must be None for Spark's data, got "
            f"{options.format!r}."
        )
    read = replace(options, export_directory=None)
    if isinstance(data, DirectData):
        return data.open(_reaching(data, read))
    if is_rdd(data) and kind_of_rdd(data) is RddKind.PATHS:
        return PathSources().open(data.collect(), read)
    there = data if isinstance(data, Export) else _exported(data, options)
    read = _reaching(there, read)
    if there.form == "columns":
        return PathSources().open(there.url, read)
    _refuse_columns(there, options)
    is_minibatches = there.form == "minibatches"
    return open_blocks(there.url, there.name, read, minibatches=is_minibatches)


def returned(data: Any, options: SourceOptions) -> ReturnedFrame | ReturnedPairs | None:
    """Return how predictions come back; see `SparkSources.returned`."""
    if is_frame(data):
        return ReturnedFrame(data, options)
    if is_rdd(data) and kind_of_rdd(data) is RddKind.PAIRS:
        return ReturnedPairs(data, options)
    return None


def _heeded(data: Any) -> tuple[str, ...]:
    """Return the options of stored forms that mean something for the data."""
    if isinstance(data, DirectData):
        return ()
    is_exported_table = isinstance(data, Export) and data.form == "columns"
    return _OF_FRAMES if is_frame(data) or is_exported_table else _OF_ALL


def _reaching(data: Export | DirectData, options: SourceOptions) -> SourceOptions:
    """Return options that reach the store where the data are."""
    if not data.storage_options or options.storage_options:
        return options
    return replace(options, storage_options=data.storage_options)


def _exported(data: Any, options: SourceOptions) -> Export:
    columns = None
    if is_frame(data):
        part = Part(url="Spark DataFrame")
        found = resolve_columns(options, data.columns, part, has_structs=True)
        columns = found.stored()
    return exported(data, options.export_directory, columns, options.storage_options)


def _refuse_columns(there: Export, options: SourceOptions) -> None:
    for option in _COLUMN_OPTIONS:
        if getattr(options, option) is not None:
            raise OptionError(
                f"SparkSources: {option} must be None for a {there.name}, which has no "
                f"columns, got {getattr(options, option)!r}."
            )
