"""A network that many tasks need, so that no worker's death can take it away.

Data that are scattered are lost with the worker that has them, and tasks that need them
are cancelled. Here the network is the result of a task, whose arguments the scheduler
keeps: when it is lost it is made again on another worker, like every result in Dask.
"""

import pickle
import uuid
from collections.abc import Sequence
from typing import Any

from distributed import Client

from daskdl.training.state import NetworkState

# Below what Dask warns of; and the scheduler's event loop never holds more at once.
PIECE_BYTES = 8 << 20


def share_state(
    client: Client,
    state: NetworkState,
    *,
    workers: Sequence[str] | None = None,
    priority: int = 0,
) -> Any:
    """Return a future of `state`, to be an argument of tasks.

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
    if len(pieces) > 1:
        pieces = [
            client.submit(bytes, piece, key=f"{key}-{number}", **where)
            for number, piece in enumerate(pieces)
        ]
    return client.submit(_joined, pieces, key=key, **where)


def _joined(pieces: Sequence[bytes]) -> NetworkState:
    state: NetworkState = pickle.loads(b"".join(pieces))
    return state
