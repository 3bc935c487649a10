"""Published data as bytes: pickled once, in the thread that publishes.

Pickling and unpickling stay off the event loop, an object that cannot be pickled is
refused where it was published, and one that cannot be unpickled hurts only the call
that takes it. Arrays are not copied into the pickle: they stay separate buffers.
"""

import pickle
from dataclasses import dataclass
from typing import Any

import numpy as np
from distributed.protocol.pickle import dumps, loads
from numpy.typing import NDArray

Buffer = NDArray[np.uint8]


@dataclass(frozen=True)
class Payload:
    """A pickle and the buffers that it refers to.

    Parameters
    ----------
    head : bytes
        The pickle, protocol 5.
    buffers : tuple of ndarray of shape (nbytes,), uint8
        The memory of the arrays, in the order of the pickle.
    """

    head: bytes
    buffers: tuple[Buffer, ...]

    @property
    def nbytes(self) -> int:
        """Size of the pickle and its buffers."""
        return len(self.head) + sum(buffer.nbytes for buffer in self.buffers)

    def copy(self) -> "Payload":
        """Return one that shares no memory with this one."""
        return Payload(self.head, tuple(buffer.copy() for buffer in self.buffers))


@dataclass(frozen=True)
class Parcel:
    """One message on its way; without a payload it is the publisher's last word.

    Whoever takes a brief one has done with its arrays before the next large one comes.
    """

    first: int
    last: int
    payload: Payload | None
    is_brief: bool = False

    @property
    def nbytes(self) -> int:
        """Size of the payload; 0 for the last word."""
        return 0 if self.payload is None else self.payload.nbytes


def encode(data: Any) -> Payload:
    """Pickle `data`, which is anything that pickle or cloudpickle takes.

    The payload shares the memory of its arrays.
    """
    picked: list[pickle.PickleBuffer] = []
    head: bytes = dumps(data, buffer_callback=picked.append)
    return Payload(head, tuple(np.asarray(buffer.raw()) for buffer in picked))


def decode(payload: Payload) -> Any:
    """Return the object; its arrays share the payload's memory."""
    return loads(payload.head, buffers=payload.buffers)


def decode_readonly(payload: Payload) -> Any:
    """Return the object with arrays that cannot be written.

    Several subscribers' queues share one payload, so that a merge function that changed
    its arguments would change what the others get.
    """
    views = [buffer.view() for buffer in payload.buffers]
    for view in views:
        view.flags.writeable = False
    return loads(payload.head, buffers=views)
