"""Where tasks may run and where they failed: what only the scheduler knows."""

from collections.abc import Iterable
from typing import Any


def allow(keys: Iterable[str], addresses: list[str], dask_scheduler: Any) -> None:
    """Let tasks, and what they need, run on more workers. Runs on the scheduler."""
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


def erred_on(keys: Iterable[str], dask_scheduler: Any) -> dict[str, list[str]]:
    """Return on which workers tasks failed. Runs on the scheduler."""
    there = [dask_scheduler.tasks[key] for key in keys if key in dask_scheduler.tasks]
    # What a task needs may be what failed.
    return {
        task.key: sorted((task.exception_blame or task).erred_on or ())
        for task in there
    }
