"""Paths as a source of data: entry point ``path`` of daskdl.sources."""

import os
from collections.abc import Sequence
from functools import partial
from typing import Any

from daskdl.checks import some
from daskdl.data.class_names import agreed_names
from daskdl.data.sources.partition import Partition, Source
from daskdl.data.sources.row_options import TABLE_OPTIONS
from daskdl.data.sources.source import SourceOptions
from daskdl.data.sources.summary import DataSummary
from daskdl.data.sources.unused_options import refuse_unused
from daskdl.data.store import naming
from daskdl.errors import DataError, OptionError
from daskdl_bridge.listing import Part, list_parts
from daskdl_bridge.readers import image_files
from daskdl_bridge.readers.empty_folders import empty_folders
from daskdl_bridge.readers.file_summary import type_in_words
from daskdl_bridge.readers.first_value import showing_first_value
from daskdl_bridge.readers.formats import (
    FORMATS,
    MINIBATCH_FORMATS,
    OPTIONS_OF_FORMAT,
    SUMMARIES,
    format_of,
)
from daskdl_bridge.readers.loaded import open_loaded_parts
from daskdl_bridge.readers.path_classes import (
    with_classes_of_paths,
    with_paths_as_key,
)
from daskdl_bridge.readers.table_reader import TablePartition
from daskdl_bridge.storage import named_location
from daskdl_bridge.table_formats import OPENED_TABLES, table_format
from daskdl_bridge.tables.formats import OPTIONS_OF_TABLE, SNAPSHOTS
from daskdl_bridge.tables.iceberg_catalog import catalog_snapshot, is_in_catalog
from daskdl_bridge.tables.partitions import partitions_of, summary_of
from daskdl_bridge.tables.snapshot import Snapshot

__all__ = ["PathSources"]

# Stores of labelled arrays, which the source for xarray opens.
_LABELLED_ENDINGS = (".zarr", ".nc", ".nc4", ".netcdf")


class PathSources:
    """Opens a path, a URL, a glob, or a list of paths."""

    def accepts(self, data: Any) -> bool:
        """Say whether `data` is a path or a list of paths, without looking at them."""
        items = data if isinstance(data, list | tuple) and data else [data]
        return all(isinstance(item, str | os.PathLike) for item in items)

    def open(self, data: Any, options: SourceOptions) -> Source:
        """List the files of a path and make partitions of them.

        Parameters
        ----------
        data : str, path, or list of them
            See :func:`daskdl_bridge.listing.list_parts`.
        options : SourceOptions
            What to read and how.

        Returns
        -------
        Source
            Partitions in the order of the files. Files without rows stay in it.

        Raises
        ------
        SourceNotFoundError, UnfinishedJobError, DataError
            See :func:`daskdl_bridge.listing.list_parts`.
        ColumnError
            If a column that the options name is not there.
        OptionError
            If an option is of another form.
        StorageError
            If the store does not answer.
        """
        name = _name(data)
        with naming(name):
            if options.loader is not None:
                parts = _parts(data, options)
                loaded = open_loaded_parts(parts, options, options.loader)
                return Source(name, tuple(loaded), minibatches=True)
            snapshot = _snapshot(data, options)
            if snapshot is not None:
                opened = showing_first_value(partial(partitions_of, snapshot), options)
                return _source(name, opened)
            parts, file_format = _listed(data, options)
            partitions = _opened(data, file_format, parts, options)
        is_minibatches = file_format in MINIBATCH_FORMATS
        return _source(name, partitions, is_minibatches=is_minibatches)

    def list_paths(self, data: Any, options: SourceOptions) -> list[str]:
        """Return the URLs of the files at a path, in the order in which they are read.

        Raises
        ------
        As `list_parts`.
        """
        with naming(_name(data)):
            parts = list_parts(
                data,
                require_success=options.require_success,
                storage_options=options.storage_options,
            )
        return [part.url for part in parts]

    def look(self, data: Any, options: SourceOptions) -> DataSummary:
        """List the files, and tell their columns as far as their heads tell them.

        Raises
        ------
        As `open`, but for columns that the options name.
        """
        name = _name(data)
        with naming(name):
            snapshot = _snapshot(data, options)
            if snapshot is not None:
                return summary_of(snapshot, options)
            parts, file_format = _listed(data, options)
            if file_format not in SUMMARIES:
                found = FORMATS[file_format](parts, options)
                held = tuple((partition.name, partition.rows) for partition in found)
                return DataSummary(name=name, parts=held, minibatches=True)
            summary = SUMMARIES[file_format](parts, options)
        types = parts[0].types
        urls = [part.url for part in parts]
        return DataSummary(
            name=name,
            columns={
                **summary.types,
                **{n: type_in_words(t) for n, t in types.items()},
            },
            partition_columns=tuple(types),
            parts=tuple(zip(urls, summary.rows, strict=True)),
            hint=summary.hint,
        )


def _opened(
    data: Any, file_format: str, parts: list[Part], options: SourceOptions
) -> Sequence[Partition]:
    if file_format == "image":
        empty = partial(empty_folders, data, parts, options.storage_options)
        return image_files.open_parts(parts, options, empty=empty)
    if not (options.label_from and options.require_labels):
        return showing_first_value(partial(FORMATS[file_format], parts), options)
    # Labels are paths, which are no labels to anybody else.
    opened = FORMATS[file_format](parts, with_paths_as_key(options))
    tables = [one for one in opened if isinstance(one, TablePartition)]
    return with_classes_of_paths(tables, options)


def _source(
    name: str, partitions: Sequence[Partition], *, is_minibatches: bool = False
) -> Source:
    names = agreed_names((one.name, one.class_names) for one in partitions)
    return Source(name, tuple(partitions), is_minibatches, class_names=names)


def _snapshot(data: Any, options: SourceOptions) -> Snapshot | None:
    """Return the snapshot of the table whose root the data name, None if it is none."""
    names = [os.fspath(one) for one in _items(data)]
    if any(map(is_in_catalog, names)):
        if len(names) > 1:
            raise OptionError(
                f"{_name(data)}: a table of a catalog must be given by itself, got "
                f"{len(names)} paths."
            )
        _check_format(data, "iceberg", options)
        return catalog_snapshot(names[0], options)
    found = _table(data, options)
    wanted = options.format if options.format in OPENED_TABLES else None
    if found is None:
        if wanted is None:
            return None
        raise DataError(
            f"{_name(data)}: must be the root of a table to be read as {wanted}, it is "
            "not."
        )
    fs, path, table_format = found
    _check_format(data, table_format, options)
    return SNAPSHOTS[table_format](fs, path, options)


def _check_format(data: Any, table_format: str, options: SourceOptions) -> None:
    if options.format not in (None, table_format):
        raise OptionError(
            f"{_name(data)}: format must be {table_format!r} or None, got "
            f"{options.format!r}: the path is a table, and only its log tells which "
            "rows count."
        )
    heeded = (*OPTIONS_OF_TABLE[table_format], *TABLE_OPTIONS)
    refuse_unused(_name(data), f"{table_format} tables", options, heeded)


def _table(data: Any, options: SourceOptions) -> tuple[Any, str, str] | None:
    """Return file system, path and format of a table, None if the data are none."""
    location = named_location(data, options.storage_options)
    if location is None:
        return None
    fs, path = location
    found = table_format(fs, path)
    return None if found is None else (fs, path, found)


def _listed(data: Any, options: SourceOptions) -> tuple[list[Part], str]:
    for item in _items(data):
        if os.fspath(item).rstrip("/").endswith(_LABELLED_ENDINGS):
            raise OptionError(
                f"{os.fspath(item)}: a store of labelled arrays must be given by "
                "itself, got several paths."
            )
    parts = _parts(data, options)
    file_format = format_of(parts, options)
    heeded = OPTIONS_OF_FORMAT.get(file_format, ())
    refuse_unused(parts[0].url, f"{file_format} files", options, heeded)
    return parts, file_format


def _parts(data: Any, options: SourceOptions) -> list[Part]:
    return list_parts(
        data,
        require_success=options.require_success,
        storage_options=options.storage_options,
    )


def _items(data: Any) -> Sequence[Any]:
    return data if isinstance(data, list | tuple) else [data]


def _name(data: Any) -> str:
    if isinstance(data, str | os.PathLike):
        return os.fspath(data)
    items: Sequence[Any] = data
    return some((os.fspath(item) for item in items), 2).replace("'", "")
