"""Placement of tasks by the scheduler: allowed workers, failures, cancellation."""

import asyncio
import time
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from distributed import Client, Future

# A scheduler reads a graph beside its other work; only then are its tasks known.
_KNOWN_WITHIN_S = 5.0
_LOOK_EVERY_S = 0.1


def allow_workers(
    keys: Iterable[str], addresses: list[str], dask_scheduler: Any
) -> None:
    """Let tasks and their dependencies run on more workers. Runs on the scheduler."""
    waiting = [dask_scheduler.tasks[key] for key in keys if key in dask_scheduler.tasks]
    seen = set()
    while waiting:
        task = waiting.pop()
        if task.key in seen:
            continue
        seen.add(task.key)
        waiting += task.dependencies
        if task.worker_restrictions is not None:
            task.worker_restrictions = {*task.worker_restrictions, *addresses}


def cancel(client: Client, futures: Sequence[Future]) -> None:
    """Cancel tasks, those too that the scheduler does not know yet."""
    unknown = [future.key for future in futures if future.status == "pending"]
    client.cancel(futures)
    if unknown:
        client.run_on_scheduler(release_late, unknown, client.id, wait=False)


async def release_late(keys: Collection[str], client: str, dask_scheduler: Any) -> None:
    """Release tasks that were cancelled before they were known. Runs on the scheduler.

    It forgets a cancellation of tasks that it does not know, and would keep them as
    long as the client is there.
    """
    end_s = time.monotonic() + _KNOWN_WITHIN_S
    while client in dask_scheduler.clients and time.monotonic() < end_s:
        wanted = dask_scheduler.clients[client].wants_what
        known = [key for key in keys if key in dask_scheduler.tasks]
        late = [key for key in known if dask_scheduler.tasks[key] in wanted]
        if late:
            dask_scheduler.client_releases_keys(keys=late, client=client)
        await asyncio.sleep(_LOOK_EVERY_S)


def erred_on(keys: Iterable[str], dask_scheduler: Any) -> dict[str, list[str]]:
    """Return on which workers tasks failed. Runs on the scheduler."""
    there = [dask_scheduler.tasks[key] for key in keys if key in dask_scheduler.tasks]
    # What a task needs may be what failed.
    return {
        task.key: sorted((task.exception_blame or task).erred_on or ())
        for task in there
    }
