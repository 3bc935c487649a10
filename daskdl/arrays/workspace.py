"""Buffers that are reused from iteration to iteration.

A training step allocates nothing once every buffer has been asked for: layers take
their activations and gradients from here by a key of their own.
"""

import math
from collections.abc import Hashable
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from daskdl.arrays.namespace import FloatArray


class Workspace:
    """A set of keyed buffers that only grow.

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

    @property
    def nbytes(self) -> int:
        """Bytes held by all buffers."""
        return sum(buffer.nbytes for buffer in self._buffers.values())

    def clear(self) -> None:
        """Forget all buffers; arrays that were handed out stay valid."""
        self._buffers.clear()
        self._views.clear()
