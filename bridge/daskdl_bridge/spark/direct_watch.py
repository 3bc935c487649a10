"""Whether workers live while Spark's tasks send them rows.

A task that sends to a worker that is stopped hears nothing, and no error either.
"""

import threading
from collections.abc import Callable, Collection
from contextlib import suppress
from typing import Any

from distributed import Client

from daskdl.cluster.silent_workers import SilentWorkers, heartbeats

__all__ = ["WorkerWatch"]

_LOOK_EVERY_S = 1.0


class WorkerWatch:
    """Looks at heartbeats until the block ends, in a thread; a context manager.

    Parameters
    ----------
    client : distributed.Client
    workers : collection of str
        Addresses.
    limit_s : float
        How long a worker may send no heartbeat; 10 s at least.
    on_lost : callable
        Called once, in that thread, when one is gone or silent for longer.

    Attributes
    ----------
    lost : tuple of str and str, or None
        Address of that worker, and what is known of it.
    """

    def __init__(
        self,
        client: Client,
        workers: Collection[str],
        limit_s: float,
        on_lost: Callable[[], None],
    ) -> None:
        self.lost: tuple[str, str] | None = None
        self._client = client
        self._workers = sorted(workers)
        self._silent = SilentWorkers(limit_s)
        self._on_lost = on_lost
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> "WorkerWatch":
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._is_over.wait(_LOOK_EVERY_S):
            # A scheduler that does not answer says nothing of workers.
            with suppress(OSError):
                self.lost = self._look(self._client.run_on_scheduler(heartbeats))
            if self.lost is not None:
                self._on_lost()
                return

    def _look(self, beats: Any) -> tuple[str, str] | None:
        for worker in self._workers:
            if worker not in beats:
                return worker, "the scheduler has lost it"
        silent = self._silent.judge(self._workers, beats)
        if not silent:
            return None
        return silent[0], f"it has sent no heartbeat for {self._silent.limit_s:g} s"
