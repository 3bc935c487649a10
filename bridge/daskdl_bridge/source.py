"""Paths as a source of data: what the entry point ``path`` of daskdl.sources names."""

import os
from collections.abc import Sequence
from typing import Any

from daskdl.checks import some
from daskdl.data.sources.source import Source, SourceOptions
from daskdl.data.store import naming
from daskdl_bridge.listing import list_parts
from daskdl_bridge.readers.forms import FORMS, MINIBATCH_FORMS, form_of

__all__ = ["PathSources"]

# Stores of labelled arrays, which the source for xarray opens.
_LABELLED_ENDINGS = (".zarr", ".nc", ".nc4", ".h5")


class PathSources:
    """Opens a path, a URL, a glob, or a list of them."""

    def accepts(self, data: Any) -> bool:
        """Say whether `data` is a path or a list of paths, without looking at them."""
        items = data if isinstance(data, list | tuple) and data else [data]
        return all(
            isinstance(item, str | os.PathLike)
            and not os.fspath(item).rstrip("/").endswith(_LABELLED_ENDINGS)
            for item in items
        )

    def open(self, data: Any, options: SourceOptions) -> Source:
        """List the files and make partitions of them.

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
        StorageError
            If the store does not answer.
        """
        with naming(_name(data)):
            parts = list_parts(
                data,
                require_success=options.require_success,
                storage_options=options.storage_options,
            )
            form = form_of(parts, options)
            partitions = FORMS[form](parts, options)
        return Source(_name(data), tuple(partitions), form in MINIBATCH_FORMS)


def _name(data: Any) -> str:
    if isinstance(data, str | os.PathLike):
        return os.fspath(data)
    items: Sequence[Any] = data
    return some((os.fspath(item) for item in items), 2).replace("'", "")
