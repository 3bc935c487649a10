"""Workers that went when their memory was nearly full.

Dask's nannies end such workers, which their logs tell, and an event on the scheduler.
"""

import time
from collections.abc import Iterable, Mapping
from typing import Any

from distributed import Client

from daskdl.cluster.calls import GONE
from daskdl.cluster.log_filters import asked_often
from daskdl.cluster.silent_workers import Heartbeat

# Dask ends a worker at 95 % of its limit; heartbeats come twice a second.
_NEARLY_FULL = 0.7
# Events of longer ago are of others that had the address.
_RECENT_S = 60.0
_ADVICE = "Raise memory_limit (in a job cluster.memory_limit)"
_BATCH_ADVICE = f"{_ADVICE}, or lower batch_size"
# Nobody ends so many by hand, or by bad luck, before one task ends.
_LEAST_DEATHS = 4
_DEATHS_PER_WORKER = 2


class FullMemory:
    """Remembers what the memory of each worker held when it was last heard of.

    Parameters
    ----------
    has_batches : bool
        Whether it helps to lower `batch_size`.
    """

    def __init__(self, *, has_batches: bool = True) -> None:
        self.advice = _BATCH_ADVICE if has_batches else _ADVICE
        self._last: dict[str, Heartbeat] = {}
        self._ended: dict[str, int] = {}  # by nannies, and what these held

    def note(self, beats: Mapping[str, Heartbeat]) -> None:
        """Take notice of what :func:`heartbeats` says now."""
        self._last.update(beats)

    def ask(self, client: Client) -> None:
        """Ask the scheduler whom nannies ended: memory may be filled between two beats.

        A worker without a nanny is ended by nobody.
        """
        self._ended.update(client.run_on_scheduler(ended_by_nannies))

    def reason(self, address: str) -> str:
        """Return in words that the memory of a worker was nearly full; else nothing."""
        if address in self._ended:
            held = self._ended[address] >> 20
            return f"Dask ended it, as its memory was full: {held:,} MiB. {self.advice}"
        last = self._last.get(address)
        if last is None or not last.limit_bytes:
            return ""
        if last.memory_bytes < _NEARLY_FULL * last.limit_bytes:
            return ""
        held, limit = last.memory_bytes >> 20, last.limit_bytes >> 20
        return (
            f"its memory was nearly full: {held:,} MiB of a limit of {limit:,} MiB. "
            f"{self.advice}"
        )

    def reason_of_any(self, addresses: Iterable[str]) -> str:
        """Return in words that the memory of one of these was nearly full, if so."""
        told = ((address, self.reason(address)) for address in addresses)
        return next((f"{address}: {why}" for address, why in told if why), "")


@asked_often
def ended_by_nannies(dask_scheduler: Any) -> dict[str, int]:
    """Return what each held whose nanny ended it lately. Runs on the scheduler."""
    since = time.time() - _RECENT_S
    events = dask_scheduler.get_events("worker-restart-memory")
    return {event["worker"]: event["rss"] for at, event in events if at > since}


class DeathsInARow:
    """Counts workers that go while no task comes to its end.

    Parameters
    ----------
    n_workers : int
        How many there were at the start.
    """

    def __init__(self, n_workers: int) -> None:
        self._most = max(_LEAST_DEATHS, _DEATHS_PER_WORKER * n_workers)
        self._count = 0
        self._ended = 0

    def are_too_many(self, gone: int, ended: int) -> bool:
        """Tell whether it may be the tasks; then the count begins anew.

        Parameters
        ----------
        gone : int
            Workers that went since the last call.
        ended : int
            Tasks that have a result by now.
        """
        self._count = gone + (self._count if ended == self._ended else 0)
        self._ended = ended
        if self._count < self._most:
            return False
        self._count = 0
        return True


def told_by_nannies(client: Client) -> str:
    """Return in words that nannies ended workers for their memory; else nothing.

    A worker that fills it within a second does so between two heartbeats.
    """
    try:
        logs = client.get_worker_logs(nanny=True)
    except (*GONE, RuntimeError):
        return ""
    lines = [str(text) for each in logs.values() for _, text in each]
    if not any("memory budget" in line for line in lines):
        return ""
    return "Dask ended workers, because their memory was full"
