"""Messages from one process to another on this machine, through memory of both.

A message costs two copies, one if it is brief, and no system call, and wakes nobody:
the reader looks. Each ring has one writer and one reader, and what is written stays
readable when the writer's process is gone.
"""

import mmap
import platform
import struct
import weakref
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from daskdl.cluster.bus.frames import (
    LARGE_BYTES,
    NumberedParcel,
    parts_of,
    payload_of,
)
from daskdl.cluster.bus.payload import Buffer, Parcel
from daskdl.cluster.host_memory import (
    ALIGNED_BYTES,
    create_memory,
    laid_out,
    open_memory,
    sweep_memory,
)
from daskdl.errors import DataError

# What is written before its length is told must be seen before it, too: processors of
# this kind keep that order, others would need barriers that Python has not.
_MACHINES = ("x86_64", "AMD64")

# There are n (n - 1) of them in a topic of n workers on one machine.
RING_BYTES = 512 * 2**10
# Of one for messages that come again and again and are larger.
MOST_BYTES = 64 * 2**20
_HEAD_BYTES = 256
# Numbers of 64 bits at its beginning, in cache lines of their own: bytes that were ever
# written, bytes that were ever read, and the number of the last message delivered.
_WRITTEN, _READ, _DELIVERED = 8, 16, 24
# Of a message: its bytes, its number, first, last, whether it is brief, and how many
# parts it has. Of a gap, behind which the ring begins anew: its bytes and this number.
_FIELDS = struct.Struct("<6q")
_GAP = -1


class SharedRing:
    """A ring of messages; each of its two processes has one of these.

    Each message lies in one piece, so that nobody need copy it who reads it soon.

    Parameters
    ----------
    memory : mmap.mmap
        The same in both processes.
    """

    def __init__(self, memory: mmap.mmap) -> None:
        view = memoryview(memory)
        self._words = view[:_HEAD_BYTES].cast("Q")
        size = (len(view) - _HEAD_BYTES) // ALIGNED_BYTES * ALIGNED_BYTES
        self._data = view[_HEAD_BYTES : _HEAD_BYTES + size]
        # Of a message, half of the ring: then one is read while the next is written.
        self._most_bytes = size // 2
        # Of the reader: how far it has taken, and what it has lent of that.
        self._taken = int(self._words[_READ])
        self._lent: weakref.ref[Buffer] | None = None

    @property
    def delivered(self) -> int:
        """Number of the last message that the reader has delivered."""
        return self._words[_DELIVERED]

    @delivered.setter
    def delivered(self, number: int) -> None:
        self._words[_DELIVERED] = number

    def ever_fits(self, parcel: Parcel) -> bool:
        """Return whether a message would have room once all others were read."""
        return _bytes_of(parcel) <= self._most_bytes

    def has_room(self, parcel: Parcel) -> bool:
        """Return whether a message may be written now."""
        size, at = _bytes_of(parcel), self._words[_WRITTEN]
        held = at - self._words[_READ] + self._gap(at, size) + size
        return size <= self._most_bytes and held <= len(self._data)

    def write(self, number: int, parcel: Parcel) -> Parcel:
        """Write a message that has room.

        Returns
        -------
        parcel
            The message as it lies here, until the reader has delivered it.
        """
        parts = parts_of(parcel)
        sizes = [part.nbytes for part in parts]
        begins, size = _laid_out(sizes)
        at = self._words[_WRITTEN]
        if gap := self._gap(at, size):
            self._put(at, _FIELDS.pack(gap, _GAP, 0, 0, 0, 0))
            at += gap
        self._put(
            at,
            _FIELDS.pack(
                size, number, parcel.first, parcel.last, parcel.is_brief, len(parts)
            )
            + struct.pack(f"<{len(parts)}q", *sizes),
        )
        lying = [
            self._put(at + begin, part.data)
            for begin, part in zip(begins, parts, strict=True)
        ]
        # Last: from now on the reader sees it.
        self._words[_WRITTEN] = at + size
        return replace(parcel, payload=payload_of(lying))

    def next_number(self) -> int | None:
        """Return the number of the oldest message that was not taken."""
        self._give_back()
        fields = self._next()
        return None if fields is None else fields[1]

    def take(self) -> NumberedParcel:
        """Remove and return the oldest message, which must be there.

        A large one that is brief is only lent, one at a time: its memory is the
        writer's again once nobody has its arrays any more.
        """
        fields = self._next()
        if fields is None:
            raise DataError("SharedRing: a message must be there to be taken, none is.")
        length, number, first, last, is_brief, n_parts = fields
        at = self._taken
        start = at % len(self._data) + _FIELDS.size
        sizes = struct.unpack_from(f"<{n_parts}q", self._data, start)
        whole: Buffer = np.frombuffer(self._piece(at, length), np.uint8)
        parts = [
            whole[begin : begin + size]
            for begin, size in zip(_laid_out(sizes)[0], sizes, strict=True)
        ]
        if is_brief and length >= LARGE_BYTES and self._lent is None:
            # Its parts keep it.
            self._lent = weakref.ref(whole)
        else:
            parts = [part.copy() for part in parts]
        self._taken = at + length
        self._give_back()
        return number, Parcel(first, last, payload_of(parts), bool(is_brief))

    def _next(self) -> "tuple[int, ...] | None":
        """Return the fields of the oldest message that was not taken."""
        while self._taken != self._words[_WRITTEN]:
            fields = _FIELDS.unpack_from(self._data, self._taken % len(self._data))
            if fields[1] != _GAP:
                return fields
            self._taken += fields[0]
        return None

    def _give_back(self) -> None:
        """Let the writer write over what was taken and is not lent."""
        if self._lent is not None and self._lent() is None:
            self._lent = None
        if self._lent is None and self._words[_READ] != self._taken:
            self._words[_READ] = self._taken

    def _gap(self, at: int, size: int) -> int:
        """Return how many bytes are left out, so that a message is in one piece."""
        left = len(self._data) - at % len(self._data)
        return left if size > left else 0

    def _put(self, at: int, part: "bytes | memoryview") -> Buffer:
        """Copy bytes to a position; return them as they lie there."""
        piece = self._piece(at, len(part))
        piece[:] = part
        return np.frombuffer(piece, np.uint8)

    def _piece(self, at: int, size: int) -> memoryview:
        start = at % len(self._data)
        return self._data[start : start + size]


def create_ring(nbytes: int = RING_BYTES) -> tuple[SharedRing, str] | None:
    """Return a new ring and the path that the reader opens, or None where none can be.

    The writer unlinks the path as soon as the reader has answered.
    """
    if not _keeps_order():
        return None
    sweep_memory()
    created = create_memory(nbytes)
    return None if created is None else (SharedRing(created[0]), created[1])


def ring_bytes_for(parcel: Parcel) -> int | None:
    """Return the size of a ring for messages of this size; None if it is too large."""
    size = _HEAD_BYTES + 2 * _bytes_of(parcel)
    n_pages = -(-size // mmap.PAGESIZE)
    return n_pages * mmap.PAGESIZE if size <= MOST_BYTES else None


def open_ring(path: str | None) -> SharedRing | None:
    """Return the ring at a path; None if it is not there, as on another machine."""
    memory = None if path is None else open_memory(path)
    return None if memory is None else SharedRing(memory)


def _keeps_order() -> bool:
    return platform.machine() in _MACHINES


def _bytes_of(parcel: Parcel) -> int:
    """Return what a message takes of a ring."""
    return _laid_out([part.nbytes for part in parts_of(parcel)])[1]


def _laid_out(sizes: Sequence[int]) -> tuple[list[int], int]:
    """Return where the parts of a message begin in it, and what it takes."""
    (_, *begins), size = laid_out([_FIELDS.size + 8 * len(sizes), *sizes])
    return begins, size
