"""Paths as a source of data: entry point ``path`` of daskdl.sources."""

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from daskdl.checks import some
from daskdl.data.class_names import agreed_names
from daskdl.data.sources.partition import Partition, Source
from daskdl.data.sources.source import SourceOptions
from daskdl.data.sources.summary import DataSummary
from daskdl.data.sources.unused_options import refuse_unused
from daskdl.data.store import naming
from daskdl.errors import OptionError
from daskdl_bridge.listing import Part, list_parts
from daskdl_bridge.readers.file_summary import type_in_words
from daskdl_bridge.readers.formats import (
    FORMATS,
    MINIBATCH_FORMATS,
    OPTIONS_OF_FORMAT,
    SUMMARIES,
    format_of,
)
from daskdl_bridge.readers.loaded import open_loaded_parts
from daskdl_bridge.readers.path_classes import with_classes_of_paths
from daskdl_bridge.readers.table_reader import TablePartition

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
            parts, file_format = _listed(data, options)
            partitions = _opened(file_format, parts, options)
        names = agreed_names((one.name, one.class_names) for one in partitions)
        is_minibatches = file_format in MINIBATCH_FORMATS
        return Source(name, tuple(partitions), is_minibatches, class_names=names)

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
    file_format: str, parts: list[Part], options: SourceOptions
) -> Sequence[Partition]:
    if not (options.label_from and options.require_labels and file_format != "image"):
        return FORMATS[file_format](parts, options)
    # Labels are paths, which are no labels to anybody else.
    unlabelled = replace(options, label=None, require_labels=False)
    opened = FORMATS[file_format](parts, unlabelled)
    tables = [one for one in opened if isinstance(one, TablePartition)]
    return with_classes_of_paths(tables, options)


def _listed(data: Any, options: SourceOptions) -> tuple[list[Part], str]:
    for item in data if isinstance(data, list | tuple) else [data]:
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


def _name(data: Any) -> str:
    if isinstance(data, str | os.PathLike):
        return os.fspath(data)
    items: Sequence[Any] = data
    return some((os.fspath(item) for item in items), 2).replace("'", "")
