"""A file read forward in large pieces, in which a place can be looked for."""

from typing import Any

__all__ = ["ScannedStream"]

# A distant store is asked this often, and memory holds as much.
_PIECE_BYTES = 1 << 20


class ScannedStream:
    """A binary stream that finds bytes and goes on behind what it skips.

    Parameters
    ----------
    stream : binary stream
        Just opened. One that cannot seek is read up to where it shall go.
    """

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._held = b""
        # Offsets of the first byte held in the stream, and of the next one in those.
        self._start, self._at = 0, 0

    @property
    def offset(self) -> int:
        """Offset of the byte that is read next."""
        return self._start + self._at

    def read(self, n_bytes: int) -> bytes:
        """Read some bytes, fewer only at the end."""
        while self._at + n_bytes > len(self._held) and self._read_on(n_bytes):
            pass
        data = self._held[self._at : self._at + n_bytes]
        self._at += len(data)
        return data

    def skip_to(self, offset: int) -> None:
        """Go forward to an offset, at most to the end."""
        if offset - self._start > len(self._held):
            try:
                self._stream.seek(offset)
                self._held, self._start, self._at = b"", offset, 0
            except ValueError:
                # Of stores that give a file from its beginning only.
                self._skip(offset)
        self._at = min(max(self._at, offset - self._start), len(self._held))

    def find(self, pattern: bytes, stop: int) -> bool:
        """Go to the first occurrence of some bytes that begins before an offset.

        Returns
        -------
        bool
            Whether there is one. If not, the stream is somewhere behind.
        """
        while True:
            found = self._held.find(pattern, self._at)
            if found >= 0:
                self._at = found
                return self.offset < stop
            # The end of what is held may be the beginning of it.
            self._at = max(self._at, len(self._held) - len(pattern) + 1)
            if self.offset >= stop or not self._read_on(_PIECE_BYTES):
                return False

    def _skip(self, offset: int) -> None:
        while self._start + len(self._held) < offset:
            self._at = len(self._held)
            if not self._read_on(_PIECE_BYTES):
                return

    def _read_on(self, n_bytes: int) -> bool:
        """Hold more, without what was read; False at the end."""
        more = self._stream.read(max(n_bytes, _PIECE_BYTES))
        self._held = b"".join([memoryview(self._held)[self._at :], more])
        self._start, self._at = self._start + self._at, 0
        return bool(more)
