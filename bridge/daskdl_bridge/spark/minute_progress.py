"""How far a fit is, where no terminal shows it: a line a minute."""

import sys
import time

from daskdl.nn.fitting.fit import Fit
from daskdl.nn.fitting.listener import Listener
from daskdl.nn.fitting.progress import how_far

__all__ = ["MinuteProgress"]

_EVERY_S = 60.0


class MinuteProgress(Listener):
    """Write epoch, examples and score to stderr once a minute, and at the end.

    For programs of ``spark-submit`` and schedulers of jobs, whose logs people read.
    """

    def __init__(self) -> None:
        self._next_s = 0.0

    def on_fit_start(self, fit: Fit) -> None:
        """Begin to wait."""
        self._next_s = time.monotonic() + _EVERY_S

    def iteration_done(self, fit: Fit) -> None:
        """Write a line, if it is time."""
        now = time.monotonic()
        if now >= self._next_s:
            self._next_s = now + _EVERY_S
            _write(fit)

    def on_fit_end(self, fit: Fit) -> None:
        """Write the figures of the last epoch."""
        _write(fit)


def _write(fit: Fit) -> None:
    sys.stderr.write(f"daskdl: {how_far(fit)}\n")
    sys.stderr.flush()
