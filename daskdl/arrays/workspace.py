"""Buffers that are reused from iteration to iteration.

A training step allocates nothing once every buffer has been asked for: what layers keep
from iteration to iteration they take from here by a key of their own. Activations and
gradients, which are large and short-lived, are lent: they take turns in one memory.
"""

import math
from collections.abc import Hashable
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from daskdl.arrays.lent_memory import LentMemory
from daskdl.arrays.namespace import FloatArray

# Lending costs about ten microseconds, a tenth of what it takes to write so much.
_LEAST_LENT_BYTES = 1 << 20


class Workspace:
    """A set of keyed buffers that only grow, and memory that is lent.

    Parameters
    ----------
    namespace : module, default numpy
        The library that allocates, ``numpy`` or ``cupy``.

    Notes
    -----
    Not for use by several threads at once: two holders of one key write into the same
    memory. One network has one workspace.
    """

    def __init__(self, namespace: ModuleType = np) -> None:
        self._namespace = namespace
        self._buffers: dict[tuple[Hashable, np.dtype[Any]], FloatArray] = {}
        self._views: dict[tuple[Hashable, np.dtype[Any]], FloatArray] = {}
        self._lent = LentMemory()

    def take(self, key: Hashable, shape: tuple[int, ...], dtype: DTypeLike) -> Any:
        """Return the buffer of `key` as an array of `shape`, uninitialised.

        Parameters
        ----------
        key : hashable
            Who asks and what for, e.g. ``("layer0", "preout")``.
        shape : tuple of int
            A larger request than before replaces the buffer, a smaller one (the last,
            short minibatch) gets its leading part.
        dtype : dtype
            Buffers of different dtypes are different buffers.

        Returns
        -------
        ndarray of `shape`, C-contiguous
            The very same array if key, shape and dtype are those of the last request.
        """
        slot = (key, np.dtype(dtype))
        view = self._views.get(slot)
        if view is not None and view.shape == tuple(shape):
            return view
        size = math.prod(shape)
        buffer = self._buffers.get(slot)
        if buffer is None or buffer.size < size:
            buffer = self._namespace.empty(size, dtype=slot[1])
            self._buffers[slot] = buffer
        view = buffer[:size].reshape(shape)
        self._views[slot] = view
        return view

    def lend(self, key: Hashable, shape: tuple[int, ...], dtype: DTypeLike) -> Any:
        """Return an array of `shape`, uninitialised, for as long as anybody holds it.

        Its memory goes to others as soon as neither the array nor a view of it is held.

        Parameters
        ----------
        key, shape, dtype
            As of :meth:`take`, which small arrays come from: these are overwritten
            when the key is asked for again.

        Returns
        -------
        ndarray of `shape`, C-contiguous
        """
        kind = np.dtype(dtype)
        if math.prod(shape) * kind.itemsize < _LEAST_LENT_BYTES:
            return self.take(key, shape, kind)
        if self._namespace is not np:
            # A device's library has such a memory of its own.
            return self._namespace.empty(shape, kind)
        return self._lent.lend(shape, kind)

    def make_room(self) -> None:
        """Let a pass as the last one allocate nothing: see :meth:`LentMemory.grow`."""
        self._lent.grow()

    @property
    def nbytes(self) -> int:
        """Bytes held by all buffers, and by what is lent on the host."""
        held = sum(buffer.nbytes for buffer in self._buffers.values())
        return held + self._lent.nbytes

    def held(self) -> list[FloatArray]:
        """Return all buffers there are now, which live as long as the list."""
        return list(self._buffers.values())

    def clear(self) -> None:
        """Forget all buffers; arrays that were handed out stay valid."""
        self._buffers.clear()
        self._views.clear()
        self._lent = LentMemory()
