"""Workers that are there and give no sign of life: stopped, or swapped out.

The scheduler counts such a worker as there until ``distributed.scheduler.worker-ttl``
is over, five minutes if nobody changed it. A fit cannot wait so long.
"""

import time
from collections.abc import Iterable, Mapping
from typing import Any

from distributed import Client

# A scheduler that was itself stopped has the heartbeats of all workers before it yet.
LOOKS = 5
# Heartbeats come every half second, in large clusters every few seconds.
LEAST_LIMIT_S = 10.0


class SilentWorkers:
    """Find workers whose heartbeats stopped.

    Parameters
    ----------
    client : Client
        A synchronous client.
    limit_s : float
        How long a worker may be silent; at least 10 s.
    """

    def __init__(self, client: Client, limit_s: float) -> None:
        self.limit_s = max(limit_s, LEAST_LIMIT_S)
        self._client = client
        self._looks: dict[str, int] = {}

    def look(self, addresses: Iterable[str]) -> list[str]:
        """Return the workers that were silent each time for some looks, once each."""
        silence_s = self._client.run_on_scheduler(seconds_of_silence)
        return self.judge(addresses, silence_s)

    def judge(
        self, addresses: Iterable[str], silence_s: Mapping[str, float]
    ) -> list[str]:
        """Return what :meth:`look` does of what the scheduler said."""
        self._looks = {
            address: self._looks.get(address, 0) + 1
            for address in addresses
            if silence_s.get(address, 0.0) > self.limit_s
        }
        return [address for address, looks in self._looks.items() if looks == LOOKS]


def seconds_of_silence(dask_scheduler: Any) -> dict[str, float]:
    """Return how long each worker has been silent. Runs on the scheduler."""
    now = time.time()
    workers = dask_scheduler.workers.items()
    return {address: now - state.last_seen for address, state in workers}
