"""What the tasks of members return."""

import asyncio
import logging
from collections.abc import Mapping

from distributed import CancelledError, Client, Future

from daskdl.training.state import NetworkState

logger = logging.getLogger(__name__)


def first_result(
    client: Client, members: Mapping[str, Future], limit_s: float
) -> NetworkState | None:
    """Return the network of the first member that has returned it; None if none has.

    Parameters
    ----------
    client : Client
    members : mapping of str to Future
        The tasks by address.
    limit_s : float
        How long one may take to hand it over.
    """
    done = {a: task for a, task in members.items() if task.status == "finished"}
    there = client.nthreads() if done else {}
    for address, task in done.items():
        if address in there:
            try:
                state: NetworkState = task.result(limit_s)
                return state
            except (asyncio.TimeoutError, CancelledError):
                # It went with its worker. The others return the same network.
                logger.info("Session: no result from %s", address)
    return None
