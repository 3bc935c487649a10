"""Versions of a Delta table whose data files or log were removed in time."""

from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

import pyarrow as pa

from daskdl.checks import some
from daskdl.data.sources.source import SourceOptions
from daskdl_bridge.storage import url_of
from daskdl_bridge.tables.delta_log import local_log

__all__ = ["without_files", "without_log"]

# Each takes deltalake some milliseconds, and nobody reads through more of them.
_MOST_VERSIONS = 100


def without_files(fs: Any, root: str, version: int, options: SourceOptions) -> str:
    """Return a message on a version that lacks data files.

    Parameters
    ----------
    fs : fsspec.AbstractFileSystem
    root : str
        What `fs` calls the table's directory.
    version : int
    options : SourceOptions
        Of the source.

    Returns
    -------
    str
        With files that are gone, and the versions that have theirs, of the last 100.
    """
    files, there = _files(fs, root, options)
    gone = sorted(files.get(version, frozenset()) - there)
    return (
        f"{url_of(fs, root)}: version {version} must still have its data files, got "
        f"none for {some(gone, 2)}, as VACUUM leaves it. {_readable(files, there)}"
    )


def without_log(fs: Any, root: str, version: int, options: SourceOptions) -> str:
    """Return a message on a version that the log does not have all of any more.

    Parameters and what is returned are those of `without_files`.
    """
    return (
        f"{url_of(fs, root)}: version {version} must still be in the table's log, it "
        "is not, as delta.logRetentionDuration and a checkpoint leave it. "
        f"{_readable(*_files(fs, root, options))}"
    )


def _files(
    fs: Any, root: str, options: SourceOptions
) -> tuple[dict[int, frozenset[str]], set[str]]:
    """Return the data files of the last versions, and all files that are there."""
    there = {path[len(root) :].lstrip("/") for path in fs.find(root)}
    # The whole log, and not what is newer than the last checkpoint.
    every = replace(options, version=0, timestamp=None)
    with local_log(fs, root, every) as directory:
        return dict(_files_of_versions(directory)), there


def _readable(files: Mapping[int, frozenset[str]], there: Set[str]) -> str:
    whole = [number for number, paths in sorted(files.items()) if paths <= there]
    return f"Versions that can be read: {_ranges(whole) or 'none'}."


def _files_of_versions(directory: str) -> Iterator[tuple[int, frozenset[str]]]:
    """Yield the last versions, with the paths of their data files in the table."""
    import deltalake
    from deltalake.exceptions import DeltaError

    newest = int(deltalake.DeltaTable(directory).version())
    for version in range(max(0, newest - _MOST_VERSIONS + 1), newest + 1):
        # The log of old versions is removed in time, too.
        with suppress(DeltaError, FileNotFoundError, ValueError):
            table = deltalake.DeltaTable(directory, version=version)
            added = pa.table(table.get_add_actions(flatten=False))["path"].to_pylist()
            # Those of another table, in full, are no matter of this one's VACUUM.
            own = {unquote(path) for path in added if ":/" not in path}
            yield version, frozenset(own)


def _ranges(numbers: Sequence[int]) -> str:
    """Return ascending numbers as text: ``2, 4 to 7``."""
    spans: list[list[int]] = []
    for number in numbers:
        if spans and spans[-1][-1] == number - 1:
            spans[-1][1:] = [number]
        else:
            spans.append([number])
    return ", ".join(" to ".join(map(str, span)) for span in spans)
