"""Workers that are there and give no sign of life: stopped, or swapped out.

The scheduler counts such a worker as there until ``distributed.scheduler.worker-ttl``
is over, five minutes if nobody changed it. A fit cannot wait so long.
"""

import time
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from daskdl.cluster.quiet_workers import asked_often

# A scheduler that was itself stopped has the heartbeats of all workers before it yet.
LOOKS = 5
# Heartbeats come every half second, in large clusters every few seconds.
LEAST_LIMIT_S = 10.0


class Sign(NamedTuple):
    """What the scheduler knows of a worker.

    Attributes
    ----------
    silence_s : float
        How long it has been silent.
    status : str
        In Dask's words: ``"running"``, ``"paused"``, ...
    """

    silence_s: float
    status: str


class SilentWorkers:
    """Find workers whose heartbeats stopped.

    Parameters
    ----------
    limit_s : float
        How long a worker may be silent; at least 10 s.
    """

    def __init__(self, limit_s: float) -> None:
        self.limit_s = max(limit_s, LEAST_LIMIT_S)
        self._looks: dict[str, int] = {}

    def judge(self, addresses: Iterable[str], signs: Mapping[str, Sign]) -> list[str]:
        """Return the workers that were silent each time for some looks, once each.

        Parameters
        ----------
        addresses : iterable of str
            Who is looked at.
        signs : mapping of str to Sign
            What :func:`signs_of_life` says now.
        """
        self._looks = {
            address: self._looks.get(address, 0) + 1
            for address in addresses
            if address in signs and signs[address].silence_s > self.limit_s
        }
        return [address for address, looks in self._looks.items() if looks == LOOKS]


@asked_often
def signs_of_life(dask_scheduler: Any) -> dict[str, Sign]:
    """Return what is known of each worker. Runs on the scheduler."""
    now = time.time()
    return {
        address: Sign(now - state.last_seen, state.status.name)
        for address, state in dask_scheduler.workers.items()
    }
