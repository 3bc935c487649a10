"""Fingerprints of files, which show whether a file is still the one listed."""

import hashlib
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from daskdl.data.store import is_one_of, naming
from daskdl.errors import ChangedFileError, DataError

__all__ = ["Fingerprint", "fingerprint_of", "modified", "tail_of", "unchanged"]

# Footers of Parquet and ORC end a file; a longer one changes at its end too, since
# that is where it says how long it is.
_TAIL_BYTES = 16 << 10

# What is later than the year 5138 is told in milliseconds, as HDFS does.
_LATEST_S = 1e11

_TIMES = (
    "modification_time",
    "mtime",
    "LastModified",
    "last_modified",
    "updated",
    "created",
)


@dataclass(frozen=True, kw_only=True)
class Fingerprint:
    """Size, time and last bytes of a file, which tell whether it changed.

    Parameters
    ----------
    size : int
        In bytes.
    modified : float or None
        Seconds since 1970, where the store keeps the time.
    tag : str or None
        Of the content, where the store has one.
    host : str or None
        Of a local file: where the time is from. Copies on other machines have their
        own.
    tail : str or None
        Digest of the end of the file, with the footer.
    """

    size: int
    modified: float | None = None
    tag: str | None = None
    host: str | None = None
    tail: str | None = None

    def changes(self, now: "Fingerprint") -> list[str]:
        """Return in words how a later fingerprint differs; empty if it does not."""
        changes = []
        if self.size != now.size:
            changes.append(f"its size is {now.size} bytes after {self.size}")
        is_comparable = self.host == now.host and None not in (
            self.modified,
            now.modified,
        )
        if is_comparable and self._time(now) != now._time(self):
            changes.append("its modification time is another")
        for what, before, after in (
            ("its tag in the store", self.tag, now.tag),
            ("its footer", self.tail, now.tail),
        ):
            if None not in (before, after) and before != after:
                changes.append(f"{what} is another")
        return changes

    def without_tail(self) -> "Fingerprint":
        """Return what is compared block by block, once the end was found as listed.

        Reading the end costs as much as a tenth of a block. It stays where only that
        tells two files of one size apart: no time is kept, or in whole seconds, or it
        is that of another machine's copy.
        """
        is_here = self.host in (None, socket.gethostname())
        is_timed = self.modified is not None and not self.modified.is_integer()
        is_told = self.tag is not None or (is_here and is_timed)
        return replace(self, tail=None) if is_told else self

    def _time(self, other: "Fingerprint") -> float | None:
        # Some stores tell whole seconds of one file and fractions of many.
        times = [time for time in (self.modified, other.modified) if time is not None]
        if any(time.is_integer() for time in times) and self.modified is not None:
            return float(int(self.modified))
        return self.modified


def fingerprint_of(fs: Any, entry: Mapping[str, Any]) -> Fingerprint:
    """Return the fingerprint of an entry of a listing."""
    tag = entry.get("ETag", entry.get("etag"))
    return Fingerprint(
        size=int(entry["size"]),
        modified=modified(entry),
        tag=None if tag is None else str(tag),
        host=socket.gethostname() if is_one_of(fs, "file") else None,
    )


def modified(entry: Mapping[str, Any]) -> float | None:
    """Return the modification time of an entry of a listing, None if it has none."""
    time = next((entry[name] for name in _TIMES if entry.get(name) is not None), None)
    if time is None or isinstance(time, str):
        return None
    seconds = float(time.timestamp() if hasattr(time, "timestamp") else time)
    return seconds / 1000 if seconds > _LATEST_S else seconds


def tail_of(stream: Any) -> str:
    """Return a digest of the end of a file; its position moves."""
    size = stream.seek(0, 2)
    stream.seek(max(0, size - _TAIL_BYTES))
    return hashlib.sha256(stream.read()).hexdigest()


@contextmanager
def unchanged(
    fs: Any, path: str, url: str, listed: Fingerprint | None
) -> Iterator[None]:
    """Refuse the results of a block if the file changed since it was listed.

    What a store that breaks off raises meanwhile, names the file.

    Parameters
    ----------
    fs : fsspec.AbstractFileSystem
    path : str
        What `fs` calls the file.
    url : str
        What messages call it.
    listed : Fingerprint or None
        Of the file when it was listed; nothing is compared without.

    Raises
    ------
    ChangedFileError
        Also in place of what reading a changed file raises.
    StorageError
        If the store breaks off.
    """
    with naming(url):
        try:
            yield
        except DataError as error:
            _check(fs, path, url, listed, error)
            raise
        _check(fs, path, url, listed, None)


def _check(
    fs: Any, path: str, url: str, listed: Fingerprint | None, cause: Exception | None
) -> None:
    if listed is None:
        return
    fs.invalidate_cache(path)
    try:
        now = fingerprint_of(fs, fs.info(path))
        if listed.tail is not None:
            with fs.open(path, "rb") as stream:
                now = replace(now, tail=tail_of(stream))
    except FileNotFoundError:
        return  # reading says so, or did
    if changes := listed.changes(now):
        raise ChangedFileError(
            f"{url}: must stay as it was when the data were listed, it was rewritten: "
            f"{' and '.join(changes)}. Wait for what writes there, and start again."
        ) from cause
