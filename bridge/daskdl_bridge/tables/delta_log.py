"""The log of a Delta table: where deltalake can read it, and the times of versions."""

import json
import os
import re
import tempfile
from collections.abc import Iterator
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

__all__ = ["LOG", "copied_log", "copy_deletion_vectors", "local_log", "version_at"]

LOG = "_delta_log"
"""Name of the directory with the log."""

_LAST_CHECKPOINT = "_last_checkpoint"
_OF_VERSION = re.compile(r"(\d{20})\.")
_COMMIT = re.compile(r"(\d{20})\.json")


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


def version_at(fs: Any, root: str, time: datetime) -> int:
    """Return the newest version that was there at a time, as Spark finds it.

    A version has the time of its file, or a millisecond more than the one before it,
    if that is later.

    Raises
    ------
    OptionError
        If the log has no version of that time.
    """
    fs.invalidate_cache(f"{root}/{LOG}")
    entries = with_retries(
        f"{root}/{LOG}: listing it", lambda: fs.ls(f"{root}/{LOG}", detail=True)
    )
    times: list[tuple[int, datetime]] = []
    for entry in sorted(entries, key=lambda entry: str(entry["name"])):
        found = _COMMIT.fullmatch(entry["name"].rpartition("/")[2])
        if found is None:
            continue
        # Whole milliseconds, as Hadoop tells them.
        written = datetime.fromtimestamp(
            int((modified(entry) or 0) * 1000) / 1000, timezone.utc
        )
        if times:
            written = max(written, times[-1][1] + timedelta(milliseconds=1))
        times.append((int(found[1]), written))
    before = [version for version, written in times if written <= time]
    if not before or time > times[-1][1]:
        between = f"{times[0][1].isoformat()} and {times[-1][1].isoformat()}"
        raise OptionError(
            f"{url_of(fs, root)}: timestamp must lie between the first and the last "
            f"version of the table's log, {between}, got {time.isoformat()}."
        )
    return before[-1]


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
