"""Workers that are there and send no heartbeat: stopped, or swapped out.

The scheduler counts such a worker as there until ``distributed.scheduler.worker-ttl``
is over, five minutes if nobody changed it. A fit cannot wait so long.
"""

import time
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from daskdl.cluster.log_filters import asked_often

# A scheduler that was itself stopped has the heartbeats of all workers before it yet.
LOOKS = 5
# Heartbeats come every half second, in large clusters every few seconds.
LEAST_LIMIT_S = 10.0
HEARD_S = 5.0


class Heartbeat(NamedTuple):
    """The last heartbeat of a worker, as the scheduler knows it.

    Attributes
    ----------
    silence_s : float
        How long it has been silent.
    status : str
        In Dask's words: ``"running"``, ``"paused"``, ...
    memory_bytes, limit_bytes : int
        What the process held, and what it may hold; 0 is no limit.
    """

    silence_s: float
    status: str
    memory_bytes: int = 0
    limit_bytes: int = 0


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

    def judge(
        self, addresses: Iterable[str], beats: Mapping[str, Heartbeat]
    ) -> list[str]:
        """Return the workers without a heartbeat at several looks on end, once each.

        Parameters
        ----------
        addresses : iterable of str
            Who is looked at.
        beats : mapping of str to Heartbeat
            What :func:`heartbeats` says now.
        """
        self._looks = {
            address: self._looks.get(address, 0) + 1
            for address in addresses
            if address in beats and beats[address].silence_s > self.limit_s
        }
        return [address for address, looks in self._looks.items() if looks == LOOKS]


def heard(beats: Mapping[str, Heartbeat]) -> set[str]:
    """Return the workers that were heard of a moment ago."""
    return {address for address, beat in beats.items() if beat.silence_s < HEARD_S}


@asked_often
def heartbeats(dask_scheduler: Any) -> dict[str, Heartbeat]:
    """Return the last heartbeat of each worker. Runs on the scheduler."""
    now = time.time()
    return {
        address: Heartbeat(
            now - state.last_seen,
            state.status.name,
            state.metrics.get("memory", 0),
            state.memory_limit or 0,
        )
        for address, state in dask_scheduler.workers.items()
    }
