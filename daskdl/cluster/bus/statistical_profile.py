"""Dask's statistical profile of a worker, less often while topics are open.

It looks at what each thread does every 10 ms, on the event loop and with the
interpreter's lock: some 5 % of a core, and a training thread waits meanwhile. Every
100 ms tell the same of a task that runs for minutes.
"""

from typing import Any

OPEN_TOPIC_EVERY_MS = 100.0


class StatisticalProfile:
    """Holds the profile of one worker back while anyone needs it. On the event loop.

    Parameters
    ----------
    worker : distributed.Worker
    """

    def __init__(self, worker: Any) -> None:
        # None where the profile is switched off.
        self._callback = worker.periodic_callbacks.get("profile")
        self._holders = 0
        self._before_ms = 0.0

    def hold(self) -> None:
        """Profile less often, unless that is so already."""
        if self._callback is not None and self._holders == 0:
            self._before_ms = self._callback.callback_time
            self._callback.callback_time = max(self._before_ms, OPEN_TOPIC_EVERY_MS)
        self._holders += 1

    def release(self) -> None:
        """Undo one :meth:`hold`; the last one profiles as often as before."""
        self._holders -= 1
        if self._callback is not None and self._holders == 0:
            self._callback.callback_time = self._before_ms
