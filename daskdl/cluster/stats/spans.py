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
    totals : dict of str to float
        Seconds of each activity that is over; only ever more.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._start_s = clock()
        # What goes on and since when, as one object: other threads read it.
        self._going: tuple[str | None, float] = (None, self._start_s)
        self._latest: deque[Span] = deque(maxlen=LATEST)
        self.totals = dict.fromkeys(ACTIVITIES, 0.0)
        self._taken = dict(self.totals)
        self.read = _Activity(self, "read")
        self.compute = _Activity(self, "compute")
        self.encode = _Activity(self, "encode")
        self.wait = _Activity(self, "wait")
        self.take_in = _Activity(self, "take_in")
        self.average = _Activity(self, "average")

    @property
    def doing(self) -> str | None:
        """The activity that goes on."""
        return self._going[0]

    def turn_to(self, activity: str | None) -> str | None:
        """Begin an activity, None for nothing; return the one before."""
        before, since_s = self._going
        if activity != before:
            now = self._clock()
            # First: who reads meanwhile finds too little for a moment, never too much.
            self._going = (activity, now)
            if before is not None:
                took = now - since_s
                self.totals[before] += took
                self._latest.append((since_s, before, took))
        return before

    def take(self) -> Stretch:
        """Return what was done since this was last asked."""
        # What goes on goes on behind it, as a span of its own.
        self.turn_to(self.turn_to(None))
        doing, since_s = self._going
        taken, self._taken = self._taken, dict(self.totals)
        since = {name: s - taken[name] for name, s in self._taken.items()}
        stretch = Stretch(
            self._start_s,
            since_s if doing else self._clock(),
            {name: s for name, s in since.items() if s},
        )
        self._start_s = stretch.stop_s
        return stretch

    def seconds_so_far(self) -> dict[str, float]:
        """Return seconds of each activity up to now. Any thread may ask.

        Beside a turn to another activity its last span may be missing; nothing counts
        twice.
        """
        while True:
            going = self._going
            seconds = dict(self.totals)
            if going is self._going:
                break
        activity, since_s = going
        if activity is not None:
            seconds[activity] += self._clock() - since_s
        return seconds

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
