"""Files of distant stores, of which the next pieces come while one is worked on.

A store answers a request after a while, whatever is asked for, and a reader that waits
for each answer leaves both the network and its core idle in turn. And a table is read
at several places in turn, a column at each: what is read on from any of them is asked
for ahead, as a kernel does it for local files.
"""

import io
import os
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

__all__ = ["Fetch", "ReadAhead"]

# Begins to fetch bytes from an offset, and returns what waits for them.
Fetch: TypeAlias = Callable[[int, int], Callable[[], bytes]]

# Of hdfs-native on one machine, MB/s by what is asked for at a time: 64 KiB 170, 256
# KiB 390, 1 MiB 710, and 4 MiB 370, for which the kernel clears new memory each time.
_PIECE_BYTES = 1 << 20
# What is fetched where nothing tells yet that it will be read on from: a footer, the
# head of a file, the first page of a column.
_FIRST_BYTES = 256 << 10
# That are asked for behind the one which is read.
_N_AHEAD = 2
# From which somebody may read on. Where more columns are read in turn, pieces would go
# before they are used.
_N_PLACES = 4


@dataclass(frozen=True)
class _Piece:
    start: int
    stop: int
    wait: Callable[[], bytes]

    @cached_property
    def data(self) -> bytes:
        return self.wait()


class ReadAhead(io.RawIOBase):
    """A file open for reading, of which pieces are asked for ahead.

    It holds 12 MiB at most, and 3 MiB of a file that is read from its head to its end.
    It is read from one thread at a time.

    Parameters
    ----------
    fetch : callable
        ``fetch(offset, n_bytes)`` begins to fetch bytes and returns at once; what it
        returns is called for them, and raises what went wrong.
    size : int
        Of the file, in bytes.
    """

    def __init__(self, fetch: Fetch, size: int) -> None:
        super().__init__()
        self._fetch = fetch
        self._size = size
        self._position = 0
        self._ends: deque[int] = deque(maxlen=_N_PLACES)
        self._first = _Piece(0, 0, bytes)
        # By number, the one that was used last behind the others.
        self._pieces: OrderedDict[int, _Piece] = OrderedDict()

    def readable(self) -> bool:
        """Tell that it can be read."""
        return True

    def seekable(self) -> bool:
        """Tell that it can be read from any place."""
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Go to a place, and return it; nothing is fetched."""
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._size}
        self._position = max(0, base[whence] + offset)
        return self._position

    def tell(self) -> int:
        """Return the place from which it is read on."""
        return self._position

    def readinto(self, buffer: Any) -> int:
        """Read what is left of a piece, up to the length of the buffer."""
        position, wanted = self._position, len(buffer)
        if not wanted or position >= self._size:
            return 0
        piece = self._piece_at(position, wanted)
        found = memoryview(piece.data)[position - piece.start :][:wanted]
        buffer[: len(found)] = found
        self._position += len(found)
        self._note(position, piece)
        return len(found)

    def close(self) -> None:
        """Let go of all pieces; what is on its way is not waited for."""
        self._pieces.clear()
        self._first = _Piece(0, 0, bytes)
        super().close()

    def _piece_at(self, position: int, wanted: int) -> _Piece:
        if self._first.start <= position < self._first.stop:
            return self._first
        number = position // _PIECE_BYTES
        is_read_on = position in self._ends or wanted > _PIECE_BYTES
        is_read_on = is_read_on or number in self._pieces
        # What is read from its head is mostly read whole.
        if is_read_on or position == 0:
            self._ask(number, _N_AHEAD if is_read_on else 0)
            return self._pieces[number]
        n_bytes = min(max(wanted, _FIRST_BYTES), self._size - position)
        self._first = self._asked(position, n_bytes)
        return self._first

    def _ask(self, number: int, n_ahead: int) -> None:
        """Ask for a piece and some behind it, unless they were asked for."""
        for wanted in range(number, number + 1 + n_ahead):
            start = wanted * _PIECE_BYTES
            if wanted not in self._pieces and start < self._size:
                n_bytes = min(_PIECE_BYTES, self._size - start)
                self._pieces[wanted] = self._asked(start, n_bytes)
        self._pieces.move_to_end(number)
        while len(self._pieces) > _N_PLACES * (1 + _N_AHEAD):
            self._pieces.popitem(last=False)

    def _asked(self, start: int, n_bytes: int) -> _Piece:
        return _Piece(start, start + n_bytes, self._fetch(start, n_bytes))

    def _note(self, begun: int, piece: _Piece) -> None:
        """Note up to where somebody read, and let go of what was read to its end."""
        if begun in self._ends:
            self._ends.remove(begun)
        self._ends.append(self._position)
        if self._position == piece.stop and piece is not self._first:
            self._pieces.pop(piece.start // _PIECE_BYTES, None)
