"""Workers that went when their memory was nearly full.

Dask's nannies end such workers, and tell their own logs only.
"""

from collections.abc import Mapping

from distributed import Client

from daskdl.cluster.calls import GONE
from daskdl.cluster.silent_workers import Heartbeat

# Dask ends a worker at 95 % of its limit; heartbeats come twice a second.
_NEARLY_FULL = 0.7
_ADVICE = "Raise memory_limit (in a job cluster.memory_limit), or lower batch_size"


class FullMemory:
    """Remembers what the memory of each worker held when it was last heard of."""

    def __init__(self) -> None:
        self._last: dict[str, Heartbeat] = {}

    def note(self, beats: Mapping[str, Heartbeat]) -> None:
        """Take notice of what :func:`heartbeats` says now."""
        self._last.update(beats)

    def reason(self, address: str) -> str:
        """Return in words that the memory of a worker was nearly full; else nothing."""
        last = self._last.get(address)
        if last is None or not last.limit_bytes:
            return ""
        if last.memory_bytes < _NEARLY_FULL * last.limit_bytes:
            return ""
        held, limit = last.memory_bytes >> 20, last.limit_bytes >> 20
        return (
            f"its memory was nearly full: {held:,} MiB of a limit of {limit:,} MiB. "
            f"{_ADVICE}"
        )


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
    return f"Dask ended workers, because their memory was full. {_ADVICE}"
