"""Faster hand-over of the interpreter lock while topics are open.

The event loop shares the interpreter with the training thread and waits up to the
switch interval, 5 ms by default, each time it has something to do. With 0.5 ms the
round trip of a small message beside a busy thread fell from 7.5 to 3.0 ms (pure Python)
and from 5.7 to 3.0 ms (small ufuncs), and the thread did not get slower.
"""

import sys
import threading

OPEN_TOPIC_INTERVAL_S = 0.0005


class SwitchInterval:
    """Holds the interpreter's switch interval down while anyone needs it."""

    def __init__(self, interval_s: float) -> None:
        self._interval_s = interval_s
        self._lock = threading.Lock()
        self._holders = 0
        self._before_s = sys.getswitchinterval()

    def hold(self) -> None:
        """Set the interval, unless it is held already."""
        with self._lock:
            if self._holders == 0:
                self._before_s = sys.getswitchinterval()
                sys.setswitchinterval(self._interval_s)
            self._holders += 1

    def release(self) -> None:
        """Undo one :meth:`hold`; the last one restores the interval from before."""
        with self._lock:
            self._holders -= 1
            if self._holders == 0:
                sys.setswitchinterval(self._before_s)


# One for the process, because the setting is: two workers in one process that each kept
# the value they found would restore them in the wrong order.
SWITCH_INTERVAL = SwitchInterval(OPEN_TOPIC_INTERVAL_S)
