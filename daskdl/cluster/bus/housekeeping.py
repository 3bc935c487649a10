"""What Dask does every few milliseconds, less often while topics are open.

All of it runs on the event loop and with the interpreter's lock, and a training thread
waits meanwhile.

- The statistical profile of a worker looks at each thread every 10 ms: some 5 % of a
  core. Every 100 ms tell the same of a task that runs for minutes. What it saw is put
  by every second, 64 KiB of it where the stack is as deep as that of a member, and 3600
  of these are kept. One for each half minute takes 700 KiB, of which the last few
  minutes are as much as anybody looks at.
- Workers and schedulers measure every 20 ms how late they are: some 3 % of a core.
"""

from collections import deque
from types import SimpleNamespace
from typing import Any

from daskdl.arrays.held_setting import HeldSetting

# Of each callback, under Dask's name for it.
LEAST_MS = {"profile": 100.0, "profile-cycle": 30_000.0, "tick": 200.0}
# Of what a worker's profile saw, under Dask's names for it: so many are kept.
HISTORIES = ("profile_history", "profile_keys_history")
KEPT = 8


class Housekeeping:
    """How often a server looks after itself, to be held. On the event loop.

    Parameters
    ----------
    server : distributed.Worker or distributed.Scheduler
    """

    def __init__(self, server: Any) -> None:
        self._settings: list[HeldSetting[Any]] = [
            _interval(server, name, least_ms) for name, least_ms in LEAST_MS.items()
        ]
        self._settings += [
            _length(server, name) for name in HISTORIES if hasattr(server, name)
        ]

    def hold(self) -> None:
        """Do it less often, unless it is held already."""
        for setting in self._settings:
            setting.hold()

    def release(self) -> None:
        """Undo one :meth:`hold`; the last one restores what was before."""
        for setting in self._settings:
            setting.release()


def _interval(server: Any, name: str, least_ms: float) -> HeldSetting[float]:
    off = SimpleNamespace(callback_time=least_ms)
    callback = server.periodic_callbacks.get(name, off)

    def write(every_ms: float) -> None:
        callback.callback_time = every_ms

    return HeldSetting(
        lambda: callback.callback_time,
        write,
        lambda before_ms: max(before_ms, least_ms),
    )


def _length(server: Any, name: str) -> HeldSetting[int | None]:
    def read() -> int | None:
        length: int | None = getattr(server, name).maxlen
        return length

    def write(length: int | None) -> None:
        setattr(server, name, deque(getattr(server, name), maxlen=length))

    return HeldSetting(
        read, write, lambda before: KEPT if before is None else min(before, KEPT)
    )
