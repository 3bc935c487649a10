"""What a member does at a moment, and how long it did what.

The thread of its task turns from one activity to another some ten times a minibatch.
Each turn costs half a microsecond, of a step that takes milliseconds.
"""

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from daskdl.nn.fitting.timeline import ACTIVITIES, Span

__all__ = ["SpanRecorder", "Stretch"]

# The last dozens of minibatches: what is behind a pattern is seen in a few of them.
LATEST = 256


@dataclass(frozen=True)
class Stretch:
    """What a member did between two moments.

    Attributes
    ----------
    start_s, stop_s : float
        On the recorder's clock.
    seconds : dict of str to float
        Of each activity that there was; together no more than the time between.
    """

    start_s: float
    stop_s: float
    seconds: dict[str, float]


class SpanRecorder:
    """Records the activities of one thread; only that thread may turn to another.

    Parameters
    ----------
    clock : function
        Returns seconds.

    Attributes
    ----------
    read, compute, encode, wait, take_in, average
        Context managers: the time in them is that activity's. Within each other the
        inner one counts.
    doing : str or None
        The activity that goes on.
    totals : dict of str to float
        Seconds of each activity up to the last :meth:`take`.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.doing: str | None = None
        self._since_s = self._start_s = clock()
        self._seconds = dict.fromkeys(ACTIVITIES, 0.0)
        self._latest: deque[Span] = deque(maxlen=LATEST)
        self.totals = dict.fromkeys(ACTIVITIES, 0.0)
        self.read = _Activity(self, "read")
        self.compute = _Activity(self, "compute")
        self.encode = _Activity(self, "encode")
        self.wait = _Activity(self, "wait")
        self.take_in = _Activity(self, "take_in")
        self.average = _Activity(self, "average")

    def turn_to(self, activity: str | None) -> str | None:
        """Begin an activity, None for nothing; return the one before."""
        before = self.doing
        if activity != before:
            now = self._clock()
            if before is not None:
                took = now - self._since_s
                self._seconds[before] += took
                self._latest.append((self._since_s, before, took))
            self.doing, self._since_s = activity, now
        return before

    def take(self) -> Stretch:
        """Return what was done since this was last asked."""
        # What goes on goes on behind it, as a span of its own.
        self.turn_to(self.turn_to(None))
        stretch = Stretch(
            self._start_s,
            self._since_s if self.doing else self._clock(),
            {name: s for name, s in self._seconds.items() if s},
        )
        for name, seconds in stretch.seconds.items():
            self.totals[name] += seconds
        self._seconds = dict.fromkeys(ACTIVITIES, 0.0)
        self._start_s = stretch.stop_s
        return stretch

    @property
    def latest(self) -> list[Span]:
        """The last spans, the oldest first, on the recorder's clock."""
        return list(self._latest)


class _Activity:
    """The time in this context is that of an activity."""

    __slots__ = ("_before", "_name", "_turn_to")

    def __init__(self, recorder: SpanRecorder, name: str) -> None:
        self._turn_to = recorder.turn_to
        self._name = name
        self._before: list[str | None] = []

    def __enter__(self) -> None:
        self._before.append(self._turn_to(self._name))

    def __exit__(self, *error: object) -> None:
        self._turn_to(self._before.pop())
