"""Memory that is lent to arrays, and comes back when nobody holds them any more."""

import math
import mmap
import weakref
from collections import deque
from typing import Any

import numpy as np
from numpy.typing import NDArray

from daskdl.arrays.addresses import Addresses

# Arrays begin on cache lines.
_LINE_BYTES = 64


class LentMemory:
    """One piece of memory that arrays take turns in.

    An array has its part for as long as anybody holds the array, or a view of it: what
    is read by the backward pass stays, and so does what a caller keeps. Nobody gives
    anything back by hand, and nothing is overwritten that can still be read.

    Notes
    -----
    Each array gets the lowest free addresses in a row. There is memory behind the first
    ones. What lies beyond, as everything does in the first pass, has memory of its own
    until :meth:`grow` makes room for it. One order of requests and ends takes the same
    addresses each time, so what is repeated allocates nothing.
    """

    def __init__(self) -> None:
        self._addresses = Addresses()
        self._memory = memoryview(b"")
        # Without somebody who holds them they would not tell of the ends of arrays.
        self._watches: set[_Watch] = set()
        # Ends come at any moment, from any thread, also between two lines of `lend`.
        self._ended: deque[_Watch] = deque()
        self._come_back = self._ended.append

    @property
    def nbytes(self) -> int:
        """How much it takes, to lend all that was lent at one time so far."""
        return self._addresses.most

    def lend(self, shape: tuple[int, ...], dtype: "np.dtype[Any]") -> NDArray[Any]:
        """Return an array of `shape`, uninitialised, that nobody else has.

        Parameters
        ----------
        shape : tuple of int
            Not empty.
        dtype : dtype

        Returns
        -------
        ndarray of `shape`, C-contiguous
        """
        self._take_back()
        size = math.prod(shape)
        nbytes = -(-size * dtype.itemsize // _LINE_BYTES) * _LINE_BYTES
        start = self._addresses.lowest(nbytes)
        # All views are of this one, whatever they are made of.
        owner = np.frombuffer(self._behind(start, start + nbytes), dtype, size)
        # Taken only now: there might have been no memory for it.
        self._addresses.take(nbytes)
        watch = _Watch(owner, self._come_back)
        watch.start, watch.end = start, start + nbytes
        self._watches.add(watch)
        return owner.reshape(shape)

    def grow(self) -> None:
        """Make room for all that was lent at one time so far."""
        if self.nbytes > len(self._memory):
            # First the old one goes.
            self._memory = memoryview(b"")
            self._memory = _aligned(self.nbytes)

    def _behind(self, start: int, end: int) -> memoryview:
        """Return the memory of addresses.

        Of an array of bytes all arrays would be views, and none would tell of its end.
        """
        if end <= len(self._memory):
            return self._memory[start:end]
        # What the system gets back at once, which it does not of what `malloc` gave.
        return memoryview(mmap.mmap(-1, end - start))

    def _take_back(self) -> None:
        while self._ended:
            watch = self._ended.popleft()
            self._watches.discard(watch)
            self._addresses.give_back(watch.start, watch.end)


class _Watch(weakref.ref[NDArray[Any]]):
    """Tells of the end of an array, and which addresses it had."""

    __slots__ = ("end", "start")

    start: int
    end: int

    # What it refers to has no hash and may be gone: it is known by itself.
    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other


def _aligned(nbytes: int) -> memoryview:
    """Return memory that begins on a cache line."""
    memory = np.empty(nbytes + _LINE_BYTES, np.uint8)
    first = -memory.ctypes.data % _LINE_BYTES
    return memory.data[first : first + nbytes]
