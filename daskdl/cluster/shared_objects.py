"""Objects in memory that a worker on this machine reads them from."""

import logging
import pickle
from dataclasses import dataclass
from typing import Any

import numpy as np
from distributed.comm import get_address_host
from distributed.protocol.pickle import dumps, loads
from distributed.utils import get_ip

from daskdl.cluster.host_memory import create_memory, open_memory, unlink_memory

logger = logging.getLogger(__name__)

_LOOPBACK = ("127.0.0.1", "localhost", "::1", "[::1]")


class NotHere:
    """The answer of a process that does not find shared memory."""


@dataclass(frozen=True)
class SharedObjects:
    """Objects whose pickle travels and whose arrays lie in shared memory.

    Attributes
    ----------
    path : str
        Of the memory.
    head : bytes
        The pickle, protocol 5.
    sizes : tuple of int
        Bytes of each array, in the order of the pickle; one follows the other.
    """

    path: str
    head: bytes
    sizes: tuple[int, ...]

    def load(self) -> Any:
        """Return the objects, with arrays of their own, or NotHere."""
        memory = open_memory(self.path)
        if memory is None:
            return NotHere()
        buffers, at = [], 0
        for size in self.sizes:
            # Copied: numbers get memory of their own, whose borders kernels need.
            own = np.empty(size, np.uint8)
            own[:] = np.frombuffer(memory, np.uint8, at + size)[at:]
            buffers.append(own)
            at += size
        return loads(self.head, buffers=buffers)

    def unlink(self) -> None:
        """Remove the path, once it was loaded."""
        unlink_memory(self.path)


def share_objects(objects: Any) -> SharedObjects | None:
    """Put the arrays of objects into shared memory; None where there is none.

    Parameters
    ----------
    objects : object
        Anything that pickle or cloudpickle takes.
    """
    picked: list[pickle.PickleBuffer] = []
    head: bytes = dumps(objects, buffer_callback=picked.append)
    parts = [np.frombuffer(each.raw(), np.uint8) for each in picked]
    sizes = tuple(part.nbytes for part in parts)
    created = create_memory(max(1, sum(sizes)))
    if created is None:
        return None
    memory, path = created
    into, at = np.frombuffer(memory, np.uint8), 0
    for part in parts:
        into[at : at + part.nbytes] = part
        at += part.nbytes
    return SharedObjects(path, head, sizes)


def is_on_this_machine(address: str) -> bool:
    """Return whether a worker's address looks as if it were on this machine.

    One that only looks so does not find the memory.
    """
    try:
        host = get_address_host(address)
        return host in _LOOPBACK or host == get_ip()
    except Exception as error:  # noqa: BLE001
        # Schemes without hosts, and machines without a network.
        logger.info("No host in %s: %r", address, error)
        return False
