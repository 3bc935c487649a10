"""What is brought to a CUDA device again and again: minibatches."""

from collections.abc import Hashable
from types import ModuleType
from typing import Any

import numpy as np

from daskdl.arrays.namespace import FloatArray, to_namespace

# Of different shapes: one for the last, short minibatch of an epoch, and some to spare.
_MOST_SHAPES = 16


class Uploads:
    """Copies of arrays of the host in memory of a device that stays.

    A copy is on its way while the host goes on: it starts from page-locked memory, of
    which there is twice as much as a minibatch needs.

    Parameters
    ----------
    cupy : module
    """

    def __init__(self, cupy: ModuleType) -> None:
        self._cupy = cupy
        self._places: dict[Hashable, _Place] = {}

    def put(self, name: Hashable, array: FloatArray) -> Any:
        """Copy an array to the device.

        Parameters
        ----------
        name : hashable
            What it is: the next one of that name, shape and type overwrites it.
        array : ndarray of any shape
            Its axes may lie in another order.

        Returns
        -------
        ndarray of CuPy like array, C-contiguous
            The same array for the same name, shape and type, if the axes lie in order.
        """
        order = tuple(np.argsort([-step for step in array.strides], kind="stable"))
        lying = array.transpose(order)
        key = (name, lying.shape, lying.dtype)
        if key not in self._places:
            if len(self._places) >= _MOST_SHAPES or array.size == 0:
                return to_namespace(np.ascontiguousarray(array), self._cupy)
            self._places[key] = _Place(self._cupy, lying)
        copy = self._places[key].write(lying)
        back = copy.transpose(tuple(np.argsort(order)))
        # Axes of one element are nowhere out of order.
        if back.flags.c_contiguous:
            return copy if back.shape == copy.shape else self._places[key].seen_as(back)
        return self._cupy.ascontiguousarray(back)


class _Place:
    """An array on the device, and page-locked memory that it is written from."""

    def __init__(self, cupy: Any, like: FloatArray) -> None:
        self._cupy = cupy
        self._device = cupy.empty(like.shape, like.dtype)
        self._view: Any = None
        self._locked = [self._page_locked(like) for _ in range(2)]
        self._read = [cupy.cuda.Event(disable_timing=True) for _ in self._locked]
        self._turn = 0

    def _page_locked(self, like: FloatArray) -> FloatArray:
        memory = self._cupy.cuda.alloc_pinned_memory(like.nbytes)
        flat: FloatArray = np.frombuffer(memory, like.dtype, like.size)
        return flat.reshape(like.shape)

    def write(self, array: FloatArray) -> Any:
        turn, self._turn = self._turn, 1 - self._turn
        locked, read = self._locked[turn], self._read[turn]
        # The copy before the last one may still read it.
        read.synchronize()
        np.copyto(locked, array)
        stream = self._cupy.cuda.get_current_stream()
        place = locked.ctypes.data
        self._device.data.copy_from_host_async(place, locked.nbytes, stream)
        read.record(stream)
        return self._device

    def seen_as(self, view: Any) -> Any:
        """Return a view of the array on the device, the same object each time."""
        if self._view is None:
            self._view = view
        return self._view
