"""How far a fit is, in the log: a line a minute where nobody watches."""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager

from daskdl.nn.fitting.fit import Fit
from daskdl.nn.fitting.listener import Listener
from daskdl.nn.fitting.progress import how_far

__all__ = ["MinuteProgress", "is_heard", "minutes_on_stderr"]

logger = logging.getLogger(__name__)

_EVERY_S = 60.0


class MinuteProgress(Listener):
    """Log epoch, examples and score once a minute, and at the end, at level INFO."""

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
            logger.info("%s", how_far(fit))

    def on_fit_end(self, fit: Fit) -> None:
        """Write the figures of the last epoch."""
        logger.info("%s", how_far(fit))


def is_heard() -> bool:
    """Whether anybody has asked for lines of level INFO."""
    return logger.isEnabledFor(logging.INFO)


@contextmanager
def minutes_on_stderr() -> Iterator[None]:
    """Have the lines written to stderr within the block.

    For programs of ``spark-submit`` and schedulers of jobs, whose logs people read.
    Where a program has set up logging its handlers have the lines, if it wants INFO.
    """
    if logger.hasHandlers():
        yield
        return
    handler, level = logging.StreamHandler(), logger.level
    handler.setFormatter(logging.Formatter("daskdl: %(message)s"))
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
