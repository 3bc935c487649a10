"""Values that workers of a cluster hold since a collection was persisted there.

A worker takes them out of its own memory, or from the worker that has them: nothing is
computed again, and nothing goes by way of the client.
"""

import asyncio
import math
from collections.abc import Hashable, Iterator
from concurrent.futures import wait
from contextlib import contextmanager
from typing import Any

from daskdl.errors import DataError

__all__ = ["PersistedValue", "is_future"]

# One that was lost with its worker is computed anew, by a worker with a thread for it.
_LOOK_EVERY_S = 0.1
_COMPUTED_AGAIN_WITHIN_S = 30.0
# How long a task waits before it leaves its thread to others. The chunk may be among
# them: all threads of all workers may belong to tasks that wait.
_LEAVES_AFTER_S = 1.0


class PersistedValue:
    """One chunk of a persisted collection.

    Parameters
    ----------
    key : key
        Of the task that made it.
    future : distributed.Future
        Holds the value as long as this object is there, but in no copy of it: a
        worker knows it by its key.
    """

    def __init__(self, key: Hashable, future: Any) -> None:
        self.key = key
        self.future = future

    def __getstate__(self) -> dict[str, Any]:
        return {"key": self.key, "future": None}

    def load(self) -> Any:
        """Return the value, on a worker of its cluster or where it was persisted from.

        Raises
        ------
        DataError
            If no worker has it any more, or it could not be computed.

        Notes
        -----
        Call it in the thread of a task: the thread is left to other tasks while the
        chunk is computed again. A thread beside that of the task only waits.
        """
        if self.future is not None:
            return self.future.result()
        from distributed import get_worker

        try:
            # Threads that read ahead have the context of the task that reads.
            worker = get_worker()
        except ValueError as error:
            raise DataError(
                f"dask collection: the persisted chunk {self.key!r} must be read by a "
                "task on a worker of the cluster that holds it, this is none."
            ) from error
        loop = worker.loop.asyncio_loop
        coming = asyncio.run_coroutine_threadsafe(_value(worker, self.key), loop)
        if not wait([coming], _LEAVES_AFTER_S).done and _is_thread_of_a_task():
            with _thread_left():
                return coming.result()
        return coming.result()


def _is_thread_of_a_task() -> bool:
    """Say whether this is a thread of a worker's pool, and has not left it."""
    from distributed.threadpoolexecutor import thread_state

    return getattr(thread_state, "proceed", False)


@contextmanager
def _thread_left() -> Iterator[None]:
    """Let another task have our thread meanwhile."""
    from distributed import rejoin, secede

    secede()
    try:
        yield
    finally:
        rejoin()


async def _value(worker: Any, key: Hashable) -> Any:
    from distributed.utils_comm import gather_from_workers

    # Not by the clock: it goes on while this process is stopped.
    looks_left = math.ceil(_COMPUTED_AGAIN_WITHIN_S / _LOOK_EVERY_S)
    while key not in worker.data:
        state = (await worker.scheduler.get_task_status(keys=[key]))[key]
        _check_state(key, state)
        holders = (await worker.scheduler.who_has(keys=[key]))[key]
        if holders:
            found, *_ = await gather_from_workers(
                {key: holders}, worker.rpc, who=worker.address
            )
            if key in found:
                return found[key]
        else:
            # Who holds it may be silent for a time: the scheduler says when it is gone.
            looks_left -= 1
        if not looks_left:
            raise DataError(
                f"dask collection: the persisted chunk {key!r} must be computed again "
                f"within {_COMPUTED_AGAIN_WITHIN_S:g} s, its worker is gone and it is "
                f"{state}. Give workers a second thread, train on fewer of them, or "
                "pass the collection as it was before persist()."
            )
        await asyncio.sleep(_LOOK_EVERY_S)
    return worker.data[key]


def _check_state(key: Hashable, state: str | None) -> None:
    """Refuse to wait for what will not come."""
    if state == "erred":
        raise DataError(
            f"dask collection: the persisted chunk {key!r} must be computed again, "
            "which failed: the cause stands in the logs of workers, or they died with "
            "it more often than distributed.scheduler.allowed-failures of Dask allows. "
            "Persist the collection once more."
        )
    if state in (None, "forgotten"):
        raise DataError(
            f"dask collection: the persisted chunk {key!r} must stay on the workers, "
            "it is gone. Keep the collection as long as it is worked on, and persist "
            "it on the cluster that works."
        )


def is_future(value: Any) -> bool:
    """Say whether a value of a graph is a future of distributed."""
    # Not by isinstance: distributed need not be installed, let alone imported.
    return type(value).__module__.startswith("distributed.") and hasattr(
        value, "result"
    )
