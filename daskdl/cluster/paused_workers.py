"""Workers that send heartbeats and begin nothing: paused, or about to close.

Dask pauses a worker whose memory is nearly full. It keeps the tasks that it was given
and has not begun; the scheduler takes back only what exceeds its threads.
"""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from daskdl.cluster.silent_workers import Heartbeat

_REASONS = {
    "paused": "is paused: its memory is nearly full",
    "closing_gracefully": "is about to close",
}


@dataclass(frozen=True)
class HeldTasks:
    """Keys of the tasks of a worker, and of their dependents.

    Attributes
    ----------
    waiting : frozenset of str
        What it has not begun.
    begun : frozenset of str
        What it works at.
    """

    waiting: frozenset[str]
    begun: frozenset[str]


class PausedWorkers:
    """Find workers that have begun nothing for long.

    Parameters
    ----------
    limit_s : float
        How long a worker may do so.
    """

    def __init__(self, limit_s: float) -> None:
        self.limit_s = limit_s
        self._since_s: dict[str, float] = {}

    def judge(self, paused: Iterable[str]) -> list[str]:
        """Return the workers that were paused at each look, for too long."""
        now = time.monotonic()
        self._since_s = {address: self._since_s.get(address, now) for address in paused}
        return [
            address
            for address, since_s in self._since_s.items()
            if now - since_s > self.limit_s
        ]


def paused_among(
    addresses: Iterable[str], beats: Mapping[str, Heartbeat]
) -> dict[str, str]:
    """Return the workers that begin no task, and in words why."""
    return {
        address: _REASONS[beats[address].status]
        for address in addresses
        if address in beats and beats[address].status in _REASONS
    }


def held_tasks(addresses: Iterable[str], dask_scheduler: Any) -> dict[str, HeldTasks]:
    """Return the tasks of workers, begun or waiting. Runs on the scheduler."""
    workers = dask_scheduler.workers
    return {
        address: _held_tasks(workers[address])
        for address in addresses
        if address in workers
    }


def _held_tasks(worker: Any) -> HeldTasks:
    begun = {task for task in worker.processing if task in worker.executing}
    waiting = {*worker.processing} - begun
    return HeldTasks(_with_dependents(waiting), _with_dependents(begun))


def _with_dependents(tasks: set[Any]) -> frozenset[str]:
    found, waiting = set(tasks), list(tasks)
    while waiting:
        new = waiting.pop().dependents - found
        found |= new
        waiting += new
    return frozenset(task.key for task in found)
