"""How clocks of machines differ from the scheduler's, which all can ask."""

import time
from collections import deque
from collections.abc import Callable
from statistics import median
from typing import Any

from distributed import Client

from daskdl.cluster.log_filters import asked_often

__all__ = ["ClockOffset", "client_offset_s"]

# Of heartbeats, half a second apart: a few of them wait for a busy event loop.
_SAMPLES = 15
_PINGS = 3


class ClockOffset:
    """The offset of a worker's clock, out of what its heartbeats measure.

    A heartbeat takes the scheduler's clock to stand, half way between its question and
    the answer, where the answer says. Heartbeats that wait on one way are wrong by half
    of that, so that the median of the last ones is taken.
    """

    def __init__(self) -> None:
        self._samples: deque[float] = deque(maxlen=_SAMPLES)

    def note(self, offset_s: float) -> None:
        """Take in what the last heartbeat measured; the same one twice counts once."""
        if not self._samples or self._samples[-1] != offset_s:
            self._samples.append(offset_s)

    @property
    def offset_s(self) -> float:
        """What is to be added to our clock to get the scheduler's."""
        return median(self._samples) if self._samples else 0.0

    @property
    def error_s(self) -> float:
        """How far half of the samples are from that."""
        at_s = self.offset_s
        return median(abs(one - at_s) for one in self._samples or [0.0])


def client_offset_s(client: Client, clock: Callable[[], float] = time.time) -> float:
    """Return what is to be added to this process's clock to get the scheduler's.

    Parameters
    ----------
    client : Client
        A synchronous client.
    clock : function
        Of this process, in seconds since 1970.
    """
    pings = []
    for _ in range(_PINGS):
        asked_s = clock()
        there_s = client.run_on_scheduler(scheduler_time_s)
        answered_s = clock()
        pings.append((answered_s - asked_s, there_s - (asked_s + answered_s) / 2))
    # Who was answered soonest knows it best.
    return float(min(pings)[1])


@asked_often
def scheduler_time_s(dask_scheduler: Any) -> float:
    """Return the scheduler's clock. Runs on the scheduler."""
    return time.time()
