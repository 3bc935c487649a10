"""A stream that ends in an error where more comes than there can be."""

from typing import IO, BinaryIO, cast

from daskdl.errors import FormatError


def bounded(stream: IO[bytes], most: int, name: str) -> BinaryIO:
    """Return a stream that reads at most so many bytes: a small zip can hold a lot.

    Parameters
    ----------
    stream : binary stream
        Read forward.
    most : int
        Bytes.
    name : str
        For messages.
    """
    # All that readers of formats ask of a stream is to read.
    return cast("BinaryIO", _BoundedStream(stream, most, name))


class _BoundedStream:
    def __init__(self, stream: IO[bytes], most: int, name: str) -> None:
        self._stream = stream
        self._most = most
        self._left = most
        self._name = name

    def read(self, n_bytes: int = -1) -> bytes:
        """Return the next bytes, or all that are left.

        Raises
        ------
        FormatError
            If there are more than allowed.
        """
        wanted = self._left + 1 if n_bytes < 0 else min(n_bytes, self._left + 1)
        piece = self._stream.read(wanted)
        if len(piece) > self._left:
            raise FormatError(
                f"{self._name}: must have at most {self._most} bytes, got more."
            )
        self._left -= len(piece)
        return piece
