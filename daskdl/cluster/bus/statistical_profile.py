"""Dask's statistical profile of a worker, less often while topics are open.

It looks at what each thread does every 10 ms, on the event loop and with the
interpreter's lock: some 5 % of a core, and a training thread waits meanwhile. Every
100 ms tell the same of a task that runs for minutes.
"""

from types import SimpleNamespace
from typing import Any

from daskdl.arrays.held_setting import HeldSetting

OPEN_TOPIC_EVERY_MS = 100.0


def statistical_profile(worker: Any) -> HeldSetting[float]:
    """Return the milliseconds between two looks, to be held. On the event loop.

    Parameters
    ----------
    worker : distributed.Worker
    """
    off = SimpleNamespace(callback_time=OPEN_TOPIC_EVERY_MS)
    callback = worker.periodic_callbacks.get("profile", off)

    def write(every_ms: float) -> None:
        callback.callback_time = every_ms

    return HeldSetting(
        lambda: callback.callback_time,
        write,
        lambda before_ms: max(before_ms, OPEN_TOPIC_EVERY_MS),
    )
