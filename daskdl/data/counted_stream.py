"""Reading binary formats forward, with messages that say where the reader stood."""

import struct
from typing import BinaryIO

from daskdl.errors import CorruptFileError

__all__ = ["CountedStream"]

# Read in pieces of this size, so that a lie in a header costs no more memory.
_PIECE_BYTES = 1 << 24


class CountedStream:
    """A binary stream that knows its offset and what to call itself in messages.

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
        pieces = []
        missing = n_bytes
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
        self.offset += n_bytes
        return b"".join(pieces)

    def take_text(self) -> str:
        """Read a text with its length in front, as Java's ``writeUTF`` wrote it."""
        start = self.offset
        raw = self.take(struct.unpack(">H", self.take(2))[0])
        try:
            return raw.decode("ascii")
        except UnicodeDecodeError as error:
            raise self.corrupt(
                "a name must be ASCII text", repr(raw[:20]), start
            ) from error

    def corrupt(
        self, must: str, got: str, offset: int | None = None
    ) -> CorruptFileError:
        """Return the error that says what must hold at an offset, and what came."""
        where = self.offset if offset is None else offset
        return CorruptFileError(
            f"{self.name}: {must}, got {got} at offset {where}. "
            "The file is damaged or no ND4J array."
        )
