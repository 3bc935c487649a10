"""Dask's statistical profile of a worker, less often while topics are open.

It looks at what each thread does every 10 ms, on the event loop and with the
interpreter's lock: some 5 % of a core, and a training thread waits meanwhile. Every
100 ms tell the same of a task that runs for minutes.

What it saw is put by every second, 64 KiB of it where the stack is as deep as that of a
member, and 3600 of these are kept. One for each half minute is as much to look at.
"""

from types import SimpleNamespace
from typing import Any

from daskdl.arrays.held_setting import HeldSetting

OPEN_TOPIC_EVERY_MS = 100.0
PUT_BY_EVERY_MS = 30_000.0


class StatisticalProfile:
    """How often a worker is looked at, to be held. On the event loop.

    Parameters
    ----------
    worker : distributed.Worker
    """

    def __init__(self, worker: Any) -> None:
        self._settings = (
            _interval(worker, "profile", OPEN_TOPIC_EVERY_MS),
            _interval(worker, "profile-cycle", PUT_BY_EVERY_MS),
        )

    def hold(self) -> None:
        """Look less often, unless it is held already."""
        for setting in self._settings:
            setting.hold()

    def release(self) -> None:
        """Undo one :meth:`hold`; the last one restores what was before."""
        for setting in self._settings:
            setting.release()


def _interval(worker: Any, name: str, least_ms: float) -> HeldSetting[float]:
    off = SimpleNamespace(callback_time=least_ms)
    callback = worker.periodic_callbacks.get(name, off)

    def write(every_ms: float) -> None:
        callback.callback_time = every_ms

    return HeldSetting(
        lambda: callback.callback_time,
        write,
        lambda before_ms: max(before_ms, least_ms),
    )
