"""The log of a file sink of Structured Streaming, which tells what was committed.

``_spark_metadata`` holds a file for each batch, named by its number, and now and then
``N.compact`` in place of batch N and all before it. Files of batches that failed lie
beside those of batches that count.
"""

import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from daskdl.data.retries import with_retries
from daskdl.data.store import entries_of, info_of
from daskdl.errors import DataError
from daskdl_bridge.storage import url_of

__all__ = ["STREAMING_LOG", "committed_files"]

STREAMING_LOG = "_spark_metadata"

_VERSION = "v1"
_BATCH = re.compile(r"(\d+)(\.compact)?")


def committed_files(fs: Any, root: str) -> list[dict[str, Any]]:
    """Look up the files in the log of a sink.

    Parameters
    ----------
    fs : fsspec.AbstractFileSystem
    root : str
        What `fs` calls the directory that the query wrote to.

    Returns
    -------
    list of dict
        What `fs` tells of each file, batch by batch; at least one.

    Raises
    ------
    DataError
        If a batch of the log is missing, or is no log of version 1; if a file is gone
        or has another size, or there is none.
    """
    sizes = _sizes(fs, root)
    if not sizes:
        raise DataError(
            f"{url_of(fs, root)}: must hold data files, the log of the streaming query "
            "has none."
        )
    return [_entry(fs, path, size) for path, size in sizes.items()]


def _entry(fs: Any, path: str, size: int) -> dict[str, Any]:
    entry = info_of(fs, path)
    if entry is None:
        raise DataError(
            f"{url_of(fs, path)}: must be there, since the log of the streaming query "
            "has it, it is not. Copy the directory again."
        )
    if int(entry["size"]) != size:
        raise DataError(
            f"{url_of(fs, path)}: must have {size} bytes as the log of the streaming "
            f"query has it, got {entry['size']}. Copy it again."
        )
    return entry


def _sizes(fs: Any, root: str) -> dict[str, int]:
    """Return the sizes in bytes of the committed files, by their paths."""
    files: dict[str, int] = {}
    for path in _batches(fs, f"{root}/{STREAMING_LOG}"):
        for entry in _entries(fs, path):
            # The directory may have been moved, or have another name elsewhere.
            file = f"{root}/{_below_root(unquote(entry['path']))}"
            if entry["action"] == "delete":
                files.pop(file, None)
            else:
                files[file] = int(entry["size"])
    return files


def _batches(fs: Any, log: str) -> Iterator[str]:
    """Yield the files of the log that count together, the oldest first."""
    single: dict[int, str] = {}
    compact: dict[int, str] = {}
    for path in entries_of(fs, log):
        if found := _BATCH.fullmatch(path.rpartition("/")[2]):
            (compact if found[2] else single)[int(found[1])] = path
    newest = max([*single, *compact], default=-1)
    start = max(compact, default=-1)
    if start >= 0:
        yield compact[start]
    for number in range(start + 1, newest + 1):
        if number not in single:
            raise DataError(
                f"{url_of(fs, log)}: must hold each batch of the streaming query up "
                f"to {newest}, {number} is missing. Copy the directory again."
            )
        yield single[number]


def _entries(fs: Any, path: str) -> list[dict[str, Any]]:
    text = with_retries(f"{path}: reading it", lambda: fs.cat_file(path)).decode()
    version, *lines = text.splitlines() or [""]
    if version != _VERSION:
        raise DataError(
            f"{url_of(fs, path)}: must be a log of {_VERSION} of a streaming query, "
            f"got {version[:20]!r}."
        )
    try:
        entries: list[dict[str, Any]] = [json.loads(line) for line in lines if line]
        if all({"path", "size", "action"} <= entry.keys() for entry in entries):
            return entries
    except (AttributeError, ValueError):
        pass
    raise DataError(
        f"{url_of(fs, path)}: each line must be an entry with path, size and action, "
        "one is not. Copy the directory again."
    )


def _below_root(path: str) -> str:
    """Return the name of a file, with the directories of its partition."""
    pieces = path.split("/")
    start = len(pieces) - 1
    while start and "=" in pieces[start - 1]:
        start -= 1
    return "/".join(pieces[start:])
