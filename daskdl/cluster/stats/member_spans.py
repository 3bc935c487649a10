"""What a member tells of its spans: how often, and on the scheduler's clock."""

import math
import time
from typing import Any

from daskdl.cluster.clocks import ClockOffset
from daskdl.cluster.stats.spans import SpanRecorder

__all__ = ["MemberSpans"]

# As often as members report how far they are, and in a fit of hours more seldom: what
# is told then fills a part of a bin. Who dies has told all but the last seconds.
LEAST_EVERY_S = 0.25
MOST_EVERY_S = 5.0
_SHARE = 1 / 240


class MemberSpans:
    """Tells the spans of a member as values of its reports.

    Parameters
    ----------
    recorder : SpanRecorder
    worker : distributed.Worker
        Whose heartbeats measure its clock.

    Attributes
    ----------
    minibatches, examples, epochs : int
        Trained so far.
    score : float
        Mean of the minibatches before the last report; NaN before that.
    """

    def __init__(self, recorder: SpanRecorder, worker: Any) -> None:
        self.recorder = recorder
        self.minibatches = self.examples = self.epochs = 0
        self.score = math.nan
        self._worker = worker
        self._clock = ClockOffset()
        self._begun_s = self._told_s = time.monotonic()
        # One for the whole fit: the clock of the day may be set meanwhile.
        self._since_1970_s = time.time() - self._begun_s

    def trained(self, examples: int) -> None:
        """Count a minibatch."""
        self.minibatches += 1
        self.examples += examples

    def values_if_due(self) -> dict[str, Any]:
        """Return what is to be told now; nothing most of the time."""
        now = time.monotonic()
        every_s = max((now - self._begun_s) * _SHARE, LEAST_EVERY_S)
        if now - self._told_s < min(every_s, MOST_EVERY_S):
            return {}
        return self.values()

    def values(self, *, with_latest: bool = False) -> dict[str, Any]:
        """Return what was done since this was last asked, as a value of a report.

        Parameters
        ----------
        with_latest : bool
            Whether to tell the last single spans, too.
        """
        stretch = self.recorder.take()
        self._told_s = time.monotonic()
        self._clock.note(self._worker.scheduler_delay)
        there_s = self._since_1970_s + self._clock.offset_s
        told: dict[str, Any] = {
            "start_s": stretch.start_s + there_s,
            "stop_s": stretch.stop_s + there_s,
            "seconds": stretch.seconds,
            "minibatches": self.minibatches,
            "clock_offset_s": self._clock.offset_s,
            "clock_error_s": self._clock.error_s,
        }
        if with_latest:
            told["latest"] = [
                [at_s + there_s, name, took]
                for at_s, name, took in self.recorder.latest
            ]
        return {"spans": told}
