"""Zip files from anywhere, whose declared sizes are checked before reading.

A zip of a few kilobytes can declare terabytes, name an entry twice, or hide how long
its list of entries is. Here every size is bounded before memory is taken, and every
failure is a `CorruptFileError` with file, entry and offset.
"""

import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, cast

from daskdl.checks import some
from daskdl.errors import CorruptFileError, DaskdlError

__all__ = ["MOST_BYTES", "MOST_ENTRIES", "ZipEntries"]

MOST_BYTES = 1 << 30
"""What all entries together may take unless the caller says otherwise."""
MOST_ENTRIES = 10_000
"""How many entries there may be unless the caller says otherwise."""

# Of an entry in the list at the end of the file: its name, extra fields, a comment.
_LIST_BYTES = 512
# The end of the file is read at once: a comment of 64 KiB, and the record before it.
_TAIL_BYTES = 1 << 17
# Characters of a name or reason of the file's own that go into a message.
_SHOWN = 200
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED = 1
# What zipfile, zlib and damaged offsets raise.
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,
    OverflowError,
    RuntimeError,
    ValueError,
)


class ZipEntries:
    """The entries of an open zip file, by name.

    Parameters
    ----------
    stream : binary stream, seekable
        Stays open; must not be closed before the last entry is read.
    name : str
        What messages call the file.
    most_bytes : int
        What all entries together may take.
    most_entries : int
        How many there may be.

    Raises
    ------
    CorruptFileError
        If it is no zip file, a damaged one, or one beyond these bounds; with entries
        of one name, encrypted, or compressed otherwise than by deflate.
    """

    def __init__(
        self,
        stream: BinaryIO,
        name: str,
        *,
        most_bytes: int = MOST_BYTES,
        most_entries: int = MOST_ENTRIES,
    ) -> None:
        self.name = name
        self._bounded = _BoundedReads(stream, most_entries * _LIST_BYTES + _TAIL_BYTES)
        with self._damage_noticed("must be a whole zip file"):
            self._archive = zipfile.ZipFile(cast(BinaryIO, self._bounded))
        # The list is read; entries may be as long as they say.
        self._bounded.most = None
        infos = self._archive.infolist()
        self._infos = {info.filename: info for info in infos}
        if len(infos) > most_entries or len(self._infos) < len(infos):
            raise CorruptFileError(
                f"{name}: a zip file must have at most {most_entries} entries of "
                f"different names, got {len(infos)} with {len(self._infos)} names."
            )
        total = sum(info.file_size for info in infos)
        if total > most_bytes:
            raise CorruptFileError(
                f"{name}: the entries of a zip file must take at most {most_bytes} "
                f"bytes together, got {total}. A larger limit must be asked for."
            )
        for info in infos:
            self._check(info)

    @property
    def names(self) -> list[str]:
        """Names of the entries, in stored order."""
        return list(self._infos)

    def read(self, entry: str) -> bytes:
        """Return the content of an entry, after its checksum was found right.

        Raises
        ------
        CorruptFileError
            If there is no such entry, or it is damaged.
        """
        with self.open(entry) as stream:
            return stream.read()

    def stored_bytes(self, entry: str) -> int:
        """Return the size of an entry in the file at most, before it is inflated."""
        # What the list says may be a lie; nothing lies behind the list itself.
        return min(self._infos[entry].compress_size, self._archive.start_dir)

    @contextmanager
    def open(self, entry: str) -> Iterator[BinaryIO]:
        """Open an entry to read it forward: it is inflated as it is read.

        The checksum is compared where the entry ends, and only if it is read so far.

        Raises
        ------
        CorruptFileError
            If there is no such entry, or it is found damaged while it is open.
        """
        if entry not in self._infos:
            raise CorruptFileError(
                f"{self.name}: must have an entry {entry!r}, got {some(self._infos)}."
            )
        offset = self._infos[entry].header_offset
        must = f"entry {entry!r} at offset {offset} must be whole"
        with self._damage_noticed(must), self._archive.open(entry) as stream:
            yield cast(BinaryIO, stream)

    def _check(self, info: zipfile.ZipInfo) -> None:
        if info.flag_bits & _ENCRYPTED or info.compress_type not in _METHODS:
            raise CorruptFileError(
                f"{self.name}: entry {info.filename[:_SHOWN]!r} at offset "
                f"{info.header_offset} must be stored or deflated and not encrypted, "
                "got method "
                f"{info.compress_type} and flags {info.flag_bits:#x}."
            )

    @contextmanager
    def _damage_noticed(self, must: str) -> Iterator[None]:
        try:
            yield
        except DaskdlError:
            raise
        except _DAMAGE as error:
            if self._bounded.failure is not None:
                # zipfile takes it for damage that the store gave no answer.
                raise self._bounded.failure from error
            raise CorruptFileError(
                f"{self.name}: {must}, got a damaged one ({str(error)[:_SHOWN]})."
            ) from error


class _BoundedReads:
    """A stream that refuses to read much at once, as a list of entries would be.

    Attributes
    ----------
    most : int or None
        Bytes; None allows any number.
    failure : OSError or None
        What the store raised.
    """

    def __init__(self, stream: BinaryIO, most: int) -> None:
        self._stream = stream
        self.most: int | None = most
        self.failure: OSError | None = None

    def read(self, n_bytes: int = -1) -> bytes:
        try:
            if self.most is not None and n_bytes < 0:
                n_bytes = self.most + 1
            raw = self._stream.read(n_bytes)
        except OSError as error:
            self.failure = error
            raise
        if self.most is not None and len(raw) > self.most:
            raise zipfile.BadZipFile("its list of entries is too long")
        return raw

    def seek(self, offset: int, whence: int = 0) -> int:
        if whence == 0 and offset < 0:
            raise zipfile.BadZipFile(f"something at offset {offset}")
        return self._stream.seek(offset, whence)

    def tell(self) -> int:
        return self._stream.tell()

    def seekable(self) -> bool:
        return True
