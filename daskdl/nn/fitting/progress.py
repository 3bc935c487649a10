"""A line that shows how far a fit is, at a prompt and in a notebook."""

import sys
import time

from daskdl.nn.fitting.fit import Fit
from daskdl.nn.fitting.listener import Listener

_EVERY_S = 0.2


class ProgressLine(Listener):
    """Write epoch, score and speed on one line of stdout that is written over."""

    def __init__(self) -> None:
        self._width = 0
        self._next_s = self._start_s = 0.0

    def on_epoch_start(self, fit: Fit) -> None:
        """Begin to count."""
        self._start_s = time.monotonic()
        self._next_s = self._start_s + _EVERY_S

    def iteration_done(self, fit: Fit) -> None:
        """Write the line, unless it is fresh."""
        now = time.monotonic()
        if now >= self._next_s:
            self._next_s = now + _EVERY_S
            self._write(fit, now)

    def on_epoch_end(self, fit: Fit) -> None:
        """Write the figures of the epoch, with the values that others reported."""
        self._write(fit, time.monotonic())

    def on_fit_end(self, fit: Fit) -> None:
        """Leave the line of the last epoch."""
        sys.stdout.write("\n")
        sys.stdout.flush()

    def _write(self, fit: Fit, now: float) -> None:
        speed = fit.examples / max(now - self._start_s, 1e-9)
        text = how_far(fit, f"{speed:,.0f}/s")
        sys.stdout.write("\r" + text.ljust(self._width))
        sys.stdout.flush()
        self._width = len(text)


def how_far(fit: Fit, *more: str) -> str:
    """Return epoch, examples, `more`, score and reported values as a line of text."""
    values = [f"{name} {value:.4g}" for name, value in fit.values.items()]
    return "  ".join(
        [
            f"epoch {fit.epoch}/{fit.epochs}",
            f"{fit.examples:,} examples",
            *more,
            f"score {fit.score:.4g}",
            *values,
        ]
    )
