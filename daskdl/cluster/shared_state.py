"""A network that many tasks need, so that no worker's death can take it away.

Data that are scattered are lost with the worker that has them, and tasks that need them
are cancelled. Here the network is the result of a task, whose arguments the scheduler
keeps: when it is lost it is made again on another worker, like every result in Dask.
"""

import pickle
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from distributed import Client

from daskdl.training.state import NetworkState

# Below what Dask warns of; and the scheduler's event loop never holds more at once.
PIECE_BYTES = 8 << 20


@dataclass(frozen=True)
class SharedState:
    """A network on a cluster.

    Parameters
    ----------
    future : Future
        Of a :class:`~daskdl.training.state.NetworkState`, to be an argument of tasks.
    parts : tuple of Future
        What it is made of.

    Notes
    -----
    Keep it until the tasks have ended, and then cancel :attr:`all`: what is released at
    once, old schedulers may hear of before they hear of the task, and keep it for ever.
    """

    future: Any
    parts: tuple[Any, ...] = ()

    @property
    def all(self) -> list[Any]:
        """All futures of the state on the cluster."""
        return [self.future, *self.parts]


def share_state(
    client: Client,
    state: NetworkState,
    *,
    workers: Sequence[str] | None = None,
    priority: int = 0,
) -> SharedState:
    """Bring a network onto a cluster.

    Parameters
    ----------
    client : Client
    state : NetworkState
    workers : sequence of str, optional
        Where it may be made.
    priority : int
        Of the tasks that make it.
    """
    data = pickle.dumps(state, protocol=pickle.HIGHEST_PROTOCOL)
    pieces = [
        data[start : start + PIECE_BYTES] for start in range(0, len(data), PIECE_BYTES)
    ]
    where: dict[str, Any] = {"pure": False, "priority": priority}
    if workers is not None:
        # Nowhere else: who has no daskdl must not be sent anything of it.
        where.update(workers=list(workers), allow_other_workers=False)
    key = f"daskdl-network-{uuid.uuid4().hex}"
    if len(pieces) == 1:
        return SharedState(client.submit(_joined, pieces, key=key, **where))
    parts = [
        client.submit(bytes, piece, key=f"{key}-{number}", **where)
        for number, piece in enumerate(pieces)
    ]
    return SharedState(client.submit(_joined, parts, key=key, **where), tuple(parts))


def _joined(pieces: Sequence[bytes]) -> NetworkState:
    state: NetworkState = pickle.loads(b"".join(pieces))
    return state
