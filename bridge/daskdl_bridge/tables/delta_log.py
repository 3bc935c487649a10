"""The log of a Delta table: where deltalake can read it, and the times of versions."""

import json
import os
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from daskdl.data.fingerprint import modified
from daskdl.data.retries import with_retries
from daskdl.data.sources.source import SourceOptions
from daskdl.data.store import entries_of, is_one_of, kind_of
from daskdl.errors import OptionError
from daskdl_bridge.storage import url_of

__all__ = [
    "LOG",
    "copied_log",
    "copy_deletion_vectors",
    "has_version",
    "local_log",
    "version_at",
]

LOG = "_delta_log"
"""Name of the directory with the log."""

_LAST_CHECKPOINT = "_last_checkpoint"
_OF_VERSION = re.compile(r"(\d{20})\.")
_COMMIT = re.compile(r"(\d{20})\.json")
# In one file, in numbered ones, or of version 2, with a name of its own.
_CHECKPOINT = re.compile(
    r"(\d{20})\.checkpoint(?:\.\d{10}\.(\d{10})|\.[0-9a-f-]{36})?\.(?:parquet|json)"
)


@contextmanager
def local_log(fs: Any, root: str, options: SourceOptions) -> Iterator[str]:
    """Yield a local directory with the log of a table.

    Parameters
    ----------
    fs : fsspec.AbstractFileSystem
    root : str
        What `fs` calls the table's directory.
    options : SourceOptions
        Without a version or a time only what follows the last checkpoint is copied.
    """
    # deltalake takes a per cent sign in the name of a directory for an escape.
    if is_one_of(fs, "file", "local") and "%" not in root:
        yield root
        return
    # So that each store is reached in one way, with the options that the user gave.
    with copied_log(fs, root, options) as directory:
        yield directory


@contextmanager
def copied_log(fs: Any, root: str, options: SourceOptions) -> Iterator[str]:
    """Do as `local_log`, but yield a copy always."""
    with tempfile.TemporaryDirectory(prefix="daskdl-delta-") as directory:
        is_newest = options.version is None and options.timestamp is None
        first = _last_checkpoint(fs, f"{root}/{LOG}") if is_newest else 0
        for path in _files(fs, f"{root}/{LOG}"):
            found = _OF_VERSION.match(path.rpartition("/")[2])
            if found is None or int(found[1]) >= first:
                _copy(fs, root, path, directory)
        yield directory


def copy_deletion_vectors(fs: Any, root: str, directory: str) -> None:
    """Copy files of deletion vectors beside a log that was copied."""
    if directory == root:
        return
    for path in entries_of(fs, root):
        if path.rpartition("/")[2].startswith("deletion_vector_"):
            _copy(fs, root, path, directory)


def has_version(fs: Any, root: str, version: int) -> bool:
    """Tell whether a log has all of a version: a checkpoint and what came after it.

    The log is cleaned up in time: what lies before a checkpoint is removed.
    """
    names = [path.rpartition("/")[2] for path in entries_of(fs, f"{root}/{LOG}")]
    return version in _whole_versions(names)


def version_at(fs: Any, root: str, time: datetime) -> int:
    """Return the newest version that was there at a time, as Spark finds it.

    A version has the time of its file, or a millisecond more than the one before it,
    if that is later.

    Raises
    ------
    OptionError
        If the log has no version of that time, or not all of it any more.
    """
    fs.invalidate_cache(f"{root}/{LOG}")
    entries = with_retries(
        f"{root}/{LOG}: listing it", lambda: fs.ls(f"{root}/{LOG}", detail=True)
    )
    named = {str(entry["name"]).rpartition("/")[2]: entry for entry in entries}
    whole = _whole_versions(named)
    times: list[tuple[int, datetime]] = []
    for name, entry in sorted(named.items()):
        found = _COMMIT.fullmatch(name)
        if found is None or int(found[1]) not in whole:
            continue
        # Whole milliseconds, as Hadoop tells them.
        written = datetime.fromtimestamp(
            int((modified(entry) or 0) * 1000) / 1000, timezone.utc
        )
        if times:
            written = max(written, times[-1][1] + timedelta(milliseconds=1))
        times.append((int(found[1]), written))
    before = [version for version, written in times if written <= time]
    if not times:
        raise OptionError(
            f"{url_of(fs, root)}: timestamp must go with a log that has its versions, "
            f"got {time.isoformat()} and none that is whole. Give no timestamp."
        )
    if not before or time > times[-1][1]:
        between = f"{times[0][1].isoformat()} and {times[-1][1].isoformat()}"
        raise OptionError(
            f"{url_of(fs, root)}: timestamp must lie between the first and the last "
            f"version that the table's log has all of, {between}, got "
            f"{time.isoformat()}."
        )
    return before[-1]


def _whole_versions(names: Iterable[str]) -> set[int]:
    """Return the versions that a log tells all of, by the names of its files."""
    commits, parts = set(), Counter[tuple[int, int]]()
    for name in names:
        if found := _COMMIT.fullmatch(name):
            commits.add(int(found[1]))
        elif found := _CHECKPOINT.fullmatch(name):
            parts[int(found[1]), int(found[2] or 1)] += 1
    whole = {version for (version, needed), n in parts.items() if n >= needed}
    for version in sorted(commits):
        if version == 0 or version - 1 in whole:
            whole.add(version)
    return whole


def _last_checkpoint(fs: Any, log: str) -> int:
    if kind_of(fs, f"{log}/{_LAST_CHECKPOINT}") is None:
        return 0
    return int(json.loads(fs.cat_file(f"{log}/{_LAST_CHECKPOINT}"))["version"])


def _files(fs: Any, directory: str) -> Iterator[str]:
    for path in entries_of(fs, directory):
        if kind_of(fs, path) == "directory":
            yield from _files(fs, path)
        else:
            yield path


def _copy(fs: Any, root: str, path: str, directory: str) -> None:
    target = Path(directory, os.path.relpath(path, root))
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(with_retries(f"{path}: reading it", lambda: fs.cat_file(path)))
