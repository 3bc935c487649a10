"""Objects in memory that a worker on this machine reads them from."""

import logging
import pickle
from dataclasses import dataclass
from typing import Any

import numpy as np
from distributed.comm import get_address_host
from distributed.protocol.pickle import dumps, loads
from distributed.utils import get_ip

from daskdl.cluster.host_memory import arrays_at, put_arrays, unlink_memory

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
    starts, sizes : tuple of int
        Where each array begins and how many bytes it has, in the order of the pickle.
    """

    path: str
    head: bytes
    starts: tuple[int, ...]
    sizes: tuple[int, ...]

    def load(self) -> Any:
        """Return the objects, with arrays of their own, or NotHere."""
        arrays = arrays_at(self.path, self.starts, self.sizes)
        if arrays is None:
            return NotHere()
        # Copied: numbers get memory of their own, whose borders kernels need.
        return loads(self.head, buffers=[array.copy() for array in arrays])

    def unlink(self) -> None:
        """Remove the path, once it was loaded."""
        unlink_memory(self.path)


def share_objects(objects: Any) -> SharedObjects | None:
    """Put the arrays of objects into shared memory; None where there are none, or it.

    Parameters
    ----------
    objects : object
        Anything that pickle or cloudpickle takes.
    """
    picked: list[pickle.PickleBuffer] = []
    head: bytes = dumps(objects, buffer_callback=picked.append)
    arrays = [np.frombuffer(each.raw(), np.uint8) for each in picked]
    put = put_arrays(arrays)
    if put is None:
        return None
    path, starts = put
    return SharedObjects(path, head, (*starts,), tuple(each.nbytes for each in arrays))


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
