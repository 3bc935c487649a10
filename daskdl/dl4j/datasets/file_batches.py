"""Many small files bundled in zips of some each, as DL4J's ``SparkDataUtils`` does."""

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from daskdl.arrays.random import stream
from daskdl.checks import check_count
from daskdl.data.filesystems import filesystem
from daskdl.data.new_directory import name_elsewhere
from daskdl.data.store import naming
from daskdl.dl4j.datasets.file_batch import FileBatch
from daskdl.errors import SourceNotFoundError

__all__ = ["PlannedFileBatch", "plan_file_batches"]

_WHO = "create_file_batches"


@dataclass(frozen=True)
class PlannedFileBatch:
    """A zip that is to be written; small and picklable.

    Parameters
    ----------
    files : tuple of str
        Paths or URLs of what it bundles, in order.
    storage_options : dict
        Handed to the file systems.
    """

    files: tuple[str, ...]
    storage_options: dict[str, Any]

    def write(self, url: str) -> str:
        """Read the files and write the zip; the same again if called again.

        Returns
        -------
        str
            The URL of the zip.
        """
        # A worker that was given up may have been here before.
        batch = FileBatch.for_files(self.files, storage_options=self.storage_options)
        batch.write_as_zip(url, overwrite=True, storage_options=self.storage_options)
        return url


def plan_file_batches(
    directory: str | os.PathLike[str],
    *,
    batch_size: int,
    seed: int,
    extensions: Sequence[str] | None = None,
    recursive: bool = True,
    storage_options: dict[str, Any] | None = None,
) -> list[PlannedFileBatch]:
    """List files, shuffle them, and say which come into which zip.

    Parameters
    ----------
    directory : str or path
        With the files. Names that begin with ``_`` or ``.`` are skipped.
    batch_size : int
        Files of a zip; the last one may have fewer.
    seed : int
        Decides the order.
    extensions : sequence of str, optional
        Take only files whose names end so.
    recursive : bool
        Take files of directories below, too.
    storage_options : dict, optional
        Handed to the file systems.

    Raises
    ------
    OptionError
        If `extensions` are one text.
    SourceNotFoundError
        If there is no file.
    """
    check_count(_WHO, "batch_size", batch_size)
    options = dict(storage_options or {})
    files = _listed(directory, extensions, options, recursive=recursive)
    order = stream(seed, "file batches").permutation(len(files)).tolist()
    shuffled = tuple(files[number] for number in order)
    starts = range(0, len(files), batch_size)
    return [
        PlannedFileBatch(shuffled[start : start + batch_size], options)
        for start in starts
    ]


def _listed(
    directory: str | os.PathLike[str],
    extensions: Sequence[str] | None,
    storage_options: dict[str, Any],
    *,
    recursive: bool,
) -> list[str]:
    """Return the files of a directory in the order of their names."""
    fs, path = filesystem(directory, storage_options)
    found: list[str] = []
    with naming(directory), suppress(FileNotFoundError, NotADirectoryError):
        found = fs.find(path, maxdepth=None if recursive else 1)
    below = {one: one.removeprefix(path).strip("/") for one in found}
    files = sorted(
        one
        for one, name in below.items()
        if name
        and not any(part.startswith(("_", ".")) for part in name.split("/"))
        and (extensions is None or name.endswith(tuple(extensions)))
    )
    if not files:
        which = "" if extensions is None else f" that ends with {list(extensions)!r}"
        raise SourceNotFoundError(
            f"{directory}: must be a directory with a file{which}, got none."
        )
    return [name_elsewhere(fs, one) for one in files]
