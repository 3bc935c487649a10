"""Event files of TensorBoard, in a directory or wherever fsspec reaches.

The records are tensorboardX's: its protocol buffers, and the checksums around them. Its
own writers are not used: they hand every event to a thread that an error of the store
ends in silence, and know two kinds of URLs.
"""

import contextlib
import itertools
import logging
import os
import posixpath
import socket
import struct
import time
from typing import Any

from daskdl.data.files import is_local, make_folder, write_output
from daskdl.data.filesystems import filesystem
from daskdl.data.retries import in_words
from daskdl.data.store import entries_of, kind_of, remove
from daskdl.errors import OutputError, OutputExistsError

__all__ = ["EVENTS", "EventFile", "check_free_of_events", "record"]

logger = logging.getLogger(__name__)

# TensorBoard looks for the last word.
_PREFIX = "events.out.tfevents"
EVENTS = f"{_PREFIX}.*"  # a pattern of names
# Stores do not append: a file is written anew until it is as long as this, so that
# the same bytes do not travel again and again.
_WHOLE_BYTES = 1 << 20
# What waits for a store that is away: some hundred thousand scores.
MOST_BYTES = 16 << 20
_numbers = itertools.count()


def record(event: Any) -> bytes:
    """Return an event as it stands in a file: length, message, a checksum of each."""
    from tensorboardX.record_writer import masked_crc32c

    data = event.SerializeToString()
    length = struct.pack("<Q", len(data))
    sums = [struct.pack("<I", masked_crc32c(part)) for part in (length, data)]
    return b"".join((length, sums[0], data, sums[1]))


def check_free_of_events(who: str, directory: str, *, overwrite: bool) -> None:
    """Refuse the events of another run, or remove them.

    Raises
    ------
    OutputExistsError
        If there are some, and `overwrite` is False; or if it is a file.
    """
    fs, path = filesystem(directory)
    if kind_of(fs, path) == "file":
        raise OutputExistsError(
            f"{who}: {directory} must be a directory, or nothing yet, it is a file."
        )
    names = [
        one
        for one in entries_of(fs, path)
        if posixpath.basename(one).startswith(_PREFIX)
    ]
    if names and not overwrite:
        raise OutputExistsError(
            f"{who}: {directory} must hold no events of another run, got "
            f"{posixpath.basename(names[0])}. Give another directory, or pass "
            "overwrite=True to replace them."
        )
    for name in names:
        remove(fs, name)


class EventFile:
    """Events on their way into one directory; not written before :meth:`flush`.

    Parameters
    ----------
    directory : str
        Path or URL; made with the first events.

    Notes
    -----
    Locally a flush appends to one file, and what a full disk took of a record is cut
    off again: TensorBoard reads no further than a damaged one. Elsewhere it writes a
    file as a whole, and begins another behind a megabyte. No file is open in between.
    """

    def __init__(self, directory: str) -> None:
        self._directory = directory.rstrip("/") or "/"
        self._is_local = is_local(directory)
        self._waiting = bytearray()
        self._dropped = 0
        self._begin()

    def _begin(self) -> None:
        # By time: TensorBoard goes on from one to the next in the order of names.
        name = f"{_PREFIX}.{time.time():.6f}.{socket.gethostname()}"
        self._url = f"{self._directory}/{name}.{os.getpid()}.{next(_numbers)}"
        self._written = b""
        self._needs_header = True

    def add(self, event: Any) -> None:
        """Add an event; of too many that wait those that come are left out."""
        if len(self._waiting) > MOST_BYTES:
            self._dropped += 1
            return
        self._waiting += record(event)

    def flush(self) -> None:
        """Write what waits.

        Raises
        ------
        OutputError, StorageError
            If the store does not take it; it waits on.
        """
        if not self._waiting:
            return
        added = (_header() if self._needs_header else b"") + bytes(self._waiting)
        if self._is_local:
            self._append(added)
        else:
            self._write_whole(self._written + added)
        self._waiting.clear()
        if self._dropped:
            logger.warning(
                "%s: %d events are missing, which were too many to wait for the store.",
                *(self._directory, self._dropped),
            )
            self._dropped = 0

    def _append(self, added: bytes) -> None:
        _, path = filesystem(self._url)
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "ab", buffering=0) as stream:
                _append_all(stream, added)
        except OSError as error:
            raise OutputError(
                f"{self._url}: events must be written, got {in_words(error)}."
            ) from error
        self._needs_header = False

    def _write_whole(self, content: bytes) -> None:
        if not self._written:
            make_folder(self._directory)
        write_output(self._url, lambda out: out.write(content), overwrite=True)
        if len(content) < _WHOLE_BYTES:
            self._written, self._needs_header = content, False
        else:
            self._begin()


def _append_all(stream: Any, added: bytes) -> None:
    size = os.fstat(stream.fileno()).st_size
    left = memoryview(added)
    try:
        while left:
            left = left[stream.write(left) :]
    except OSError:
        with contextlib.suppress(OSError):
            stream.truncate(size)
        raise


def _header() -> bytes:
    from tensorboardX.proto.event_pb2 import Event

    return record(Event(wall_time=time.time(), file_version="brain.Event:2"))
