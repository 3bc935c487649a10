"""Reading binary formats forward, with messages that say where the reader stood."""

import struct
from typing import Any, BinaryIO

from daskdl.dl4j.java.text import decode_modified_utf8
from daskdl.errors import CorruptFileError

__all__ = ["CountedStream"]

# Read in pieces of this size, so that a lie in a header costs no more memory.
_PIECE_BYTES = 1 << 24
# Characters that go into a message: damaged lengths make names of thousands.
_SHOWN = 300


class CountedStream:
    """A binary stream that knows its offset, and its name for messages.

    Parameters
    ----------
    stream : binary stream
        Read forward only; need not be seekable.
    name : str
        Path or URL for messages.
    """

    def __init__(self, stream: BinaryIO, name: str) -> None:
        self.name = name
        self.offset = 0
        self._stream = stream
        self._ahead = b""

    @classmethod
    def of(cls, stream: "BinaryIO | CountedStream", name: str) -> "CountedStream":
        """Return the stream itself if it counts already, else a new one around it."""
        return stream if isinstance(stream, CountedStream) else cls(stream, name)

    def take(self, n_bytes: int) -> bytes:
        """Read exactly `n_bytes`.

        Raises
        ------
        CorruptFileError
            If the stream ends before; with name and offset.
        """
        raw = self._ahead[:n_bytes] or self._stream.read(min(n_bytes, _PIECE_BYTES))
        self._ahead = self._ahead[n_bytes:]
        # Nearly all come at once: a file has dozens of short pieces.
        if len(raw) != n_bytes:
            raw = self._completed(raw, n_bytes)
        self.offset += n_bytes
        return raw

    def _completed(self, first: bytes, n_bytes: int) -> bytes:
        pieces, missing = [first], n_bytes - len(first)
        while missing:
            piece = self._stream.read(min(missing, _PIECE_BYTES))
            if not piece:
                raise CorruptFileError(
                    f"{self.name}: {n_bytes} bytes must follow at offset "
                    f"{self.offset}, got {n_bytes - missing} before the end. The file "
                    "was cut off or is damaged."
                )
            pieces.append(piece)
            missing -= len(piece)
        return b"".join(pieces)

    def read(self, n_bytes: int = -1) -> bytes:
        """Read up to `n_bytes`, or all that is left, as any stream does."""
        if n_bytes == 0:
            return b""
        ahead, self._ahead = self._ahead, b""
        raw = ahead + self._stream.read(n_bytes - len(ahead) if n_bytes >= 0 else -1)
        self.offset += len(raw)
        return raw

    def look_ahead(self) -> bytes:
        """Return the next byte, which stays to be read; empty at the end."""
        self._ahead = self._ahead or self._stream.read(1)
        return self._ahead[:1]

    def is_at_end(self) -> bool:
        """Say whether no byte is left; looks one byte ahead."""
        return not self.look_ahead()

    def take_numbers(self, form: str) -> tuple[Any, ...]:
        """Read numbers that :mod:`struct` knows by `form`, such as ``">2i"``."""
        return struct.unpack(form, self.take(struct.calcsize(form)))

    def take_number(self, form: str) -> Any:
        """Read one number."""
        (number,) = self.take_numbers(form)
        return number

    def take_count(self, form: str, what: str, most: int) -> int:
        """Read a count, from 0 to `most`; `what` names the counted things.

        Raises
        ------
        CorruptFileError
            If it is another number.
        """
        start = self.offset
        count: int = self.take_number(form)
        if not 0 <= count <= most:
            must = f"the number of {what} must be from 0 to {most}"
            raise self.corrupt(must, str(count), start)
        return count

    def take_text(self) -> str:
        """Read a text with its length in front, as Java's ``writeUTF`` wrote it."""
        return self.take_text_of(self.take_number(">H"))

    def take_text_of(self, n_bytes: int) -> str:
        """Read a text of that length in Java's modified UTF-8."""
        start = self.offset
        raw = self.take(n_bytes)
        try:
            return decode_modified_utf8(raw)
        except UnicodeDecodeError as error:
            raise self.corrupt("text must be UTF-8", repr(raw[:20]), start) from error

    def corrupt(
        self, must: str, got: str, offset: int | None = None
    ) -> CorruptFileError:
        """Return the error of a corrupt file, with expected and found values."""
        where = self.offset if offset is None else offset
        return CorruptFileError(
            f"{self.name}: {must[:_SHOWN]}, got {got[:_SHOWN]} at offset {where}. "
            "The file is damaged, or something else."
        )
