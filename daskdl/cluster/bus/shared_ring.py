"""Messages from one process to another on this machine, through memory of both.

A message costs two copies and no system call, and wakes nobody: the reader looks. Each
ring has one writer and one reader, and what is written stays readable when the writer's
process is gone.
"""

import mmap
import platform
import struct

import numpy as np

from daskdl.cluster.bus.frames import NumberedParcel, parts_of, payload_of
from daskdl.cluster.bus.payload import Buffer, Parcel
from daskdl.cluster.host_memory import create_memory, open_memory, sweep_memory

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
# Of a message: its bytes, its number, first, last, and how many parts it has.
_FIELDS = struct.Struct("<5q")


class SharedRing:
    """A ring of messages; each of its two processes has one of these.

    Parameters
    ----------
    memory : mmap.mmap
        The same in both processes.
    """

    def __init__(self, memory: mmap.mmap) -> None:
        view = memoryview(memory)
        self._words = view[:_HEAD_BYTES].cast("Q")
        self._data = view[_HEAD_BYTES:]

    @property
    def delivered(self) -> int:
        """Number of the last message that the reader has delivered."""
        return self._words[_DELIVERED]

    @delivered.setter
    def delivered(self, number: int) -> None:
        self._words[_DELIVERED] = number

    def ever_fits(self, parcel: Parcel) -> bool:
        """Return whether a message would have room once all others were read.

        Half of the ring: then one is read while the next is written.
        """
        return _bytes_of(parcel) <= len(self._data) // 2

    def has_room(self, parcel: Parcel) -> bool:
        """Return whether a message may be written now."""
        held = self._words[_WRITTEN] - self._words[_READ]
        return self.ever_fits(parcel) and held + _bytes_of(parcel) <= len(self._data)

    def write(self, number: int, parcel: Parcel) -> None:
        """Write a message that has room."""
        parts = parts_of(parcel)
        head = _FIELDS.pack(
            _bytes_of(parcel), number, parcel.first, parcel.last, len(parts)
        )
        sizes = struct.pack(f"<{len(parts)}q", *(part.nbytes for part in parts))
        at = self._put(self._words[_WRITTEN], memoryview(head + sizes))
        for part in parts:
            at = self._put(at, part.data)
        # Last: from now on the reader sees it.
        self._words[_WRITTEN] = at

    def next_number(self) -> int | None:
        """Return the number of the oldest message that was not taken."""
        at = self._words[_READ]
        if at == self._words[_WRITTEN]:
            return None
        number: int = _FIELDS.unpack(self._copied(at, _FIELDS.size).data)[1]
        return number

    def take(self) -> NumberedParcel:
        """Remove and return the oldest message, which must be there."""
        start = self._words[_READ]
        length, number, first, last, n_parts = _FIELDS.unpack(
            self._copied(start, _FIELDS.size).data
        )
        at = start + _FIELDS.size
        sizes = struct.unpack(f"<{n_parts}q", self._copied(at, 8 * n_parts).data)
        at += 8 * n_parts
        parts = []
        for size in sizes:
            parts.append(self._copied(at, size))
            at += size
        # Last: from now on the writer writes over it.
        self._words[_READ] = start + length
        return number, Parcel(first, last, payload_of(parts))

    def _put(self, at: int, part: memoryview) -> int:
        """Copy bytes to a position, around the end if need be; return the next one."""
        start = at % len(self._data)
        first = min(len(part), len(self._data) - start)
        self._data[start : start + first] = part[:first]
        if first < len(part):
            self._data[: len(part) - first] = part[first:]
        return at + len(part)

    def _copied(self, at: int, size: int) -> Buffer:
        copy: Buffer = np.empty(size, np.uint8)
        start = at % len(self._data)
        first = min(size, len(self._data) - start)
        into = copy.data
        into[:first] = self._data[start : start + first]
        if first < size:
            into[first:] = self._data[: size - first]
        return copy


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
    n_parts = 0 if parcel.payload is None else 1 + len(parcel.payload.buffers)
    return _FIELDS.size + 8 * n_parts + parcel.nbytes
