"""What each worker did when: seconds of its activities in bins of time.

A fit of a minute and one of a day have the same number of bins: when there are too many
of them, each two become one. Of single spans only the latest are kept.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from daskdl.errors import FormatError

__all__ = ["ACTIVITIES", "Lane", "Span", "Timeline"]

ACTIVITIES = ("read", "compute", "encode", "wait", "take_in", "average")
"""What a worker may be doing; the rest of its time nobody asked anything of it."""

Span: TypeAlias = tuple[float, str, float]
"""When it began, in seconds since the start of the fit; its activity; its seconds."""

# Twice as many as are left when there are too many. A page is a thousand pixels wide.
MOST_BINS = 400
# As often as workers report.
LEAST_BIN_S = 0.25

FORMAT, VERSION = "daskdl-timeline", 1


@dataclass(kw_only=True)
class Lane:
    """One worker from when it joined until it went.

    Attributes
    ----------
    worker : str
        Its address.
    member : int
        Its number in the session; a worker that comes back has another one.
    first : int
        The bin that `micros` begins with.
    micros : list of list of int
        Microseconds of each activity, in the order of `ACTIVITIES`, for each bin.
    minibatches : int
        That it trained.
    clock_offset_s, clock_error_s : float
        What was added to its clock to get the scheduler's, and how much that may be
        wrong.
    latest : list of Span
        The last ones before it returned; empty of a worker that went.
    """

    worker: str
    member: int
    first: int = 0
    micros: list[list[int]] = field(default_factory=list)
    minibatches: int = 0
    clock_offset_s: float = 0.0
    clock_error_s: float = 0.0
    latest: list[Span] = field(default_factory=list)

    @property
    def seconds(self) -> dict[str, float]:
        """Seconds of each activity in all."""
        sums = [sum(row[i] for row in self.micros) for i in range(len(ACTIVITIES))]
        return {name: us / 1e6 for name, us in zip(ACTIVITIES, sums, strict=True)}


@dataclass
class Timeline:
    """The lanes of all workers, on bins that are common to them.

    Attributes
    ----------
    bin_s : float
        Seconds of a bin; bin 0 begins with the fit.
    lanes : list of Lane
        In the order in which workers reported first.
    """

    bin_s: float = LEAST_BIN_S
    lanes: list[Lane] = field(default_factory=list)

    def __post_init__(self) -> None:
        # Of this session: members of an earlier one of the same run had these numbers.
        self._open: dict[int, Lane] = {}

    def lane(self, worker: str, member: int) -> Lane:
        """Return the lane of a worker, a new one at its first report."""
        if member not in self._open:
            self._open[member] = Lane(worker=worker, member=member)
            self.lanes.append(self._open[member])
        return self._open[member]

    def add(
        self,
        lane: Lane,
        start_s: float,
        stop_s: float,
        seconds: Mapping[str, float],
    ) -> None:
        """Spread what a worker did between two moments evenly over the bins there.

        Parameters
        ----------
        lane : Lane
            Of this timeline.
        start_s, stop_s : float
            Since the start of the fit; what was before it counts to its first bin.
        seconds : mapping of str to float
            Of each activity; others than `ACTIVITIES` are left out.
        """
        start_s, stop_s = max(start_s, 0.0), max(stop_s, 0.0)
        while stop_s >= self.bin_s * MOST_BINS:
            self._halve()
        micros = [1e6 * seconds.get(name, 0.0) for name in ACTIVITIES]
        first, last = int(start_s / self.bin_s), int(stop_s / self.bin_s)
        _extend(lane, first, last)
        span_s = stop_s - start_s
        for number in range(first, last + 1):
            from_s = max(start_s, number * self.bin_s)
            to_s = min(stop_s, (number + 1) * self.bin_s)
            share = (to_s - from_s) / span_s if span_s else 1.0
            row = lane.micros[number - lane.first]
            for i, value in enumerate(micros):
                row[i] += round(value * share)

    def _halve(self) -> None:
        self.bin_s *= 2
        for lane in self.lanes:
            rows = lane.micros
            if lane.first % 2 and rows:
                rows = [[0] * len(ACTIVITIES), *rows]
            if len(rows) % 2:
                rows = [*rows, [0] * len(ACTIVITIES)]
            pairs = zip(rows[::2], rows[1::2], strict=True)
            lane.micros = [
                [a + b for a, b in zip(*pair, strict=True)] for pair in pairs
            ]
            lane.first //= 2

    def to_lines(self) -> list[dict[str, Any]]:
        """Return objects for JSON, one a line: a head, then the lanes."""
        head = {
            "format": FORMAT,
            "version": VERSION,
            "bin_s": self.bin_s,
            "activities": list(ACTIVITIES),
        }
        return [head, *({**vars(lane)} for lane in self.lanes)]

    @classmethod
    def from_lines(cls, who: str, lines: Sequence[Any]) -> "Timeline":
        """Return the timeline of which :meth:`to_lines` made objects.

        Parameters
        ----------
        who : str
            For messages: the file.
        lines : sequence of object
            May have gone through JSON.

        Raises
        ------
        FormatError
            If they are none, or of a newer version.
        """
        head = lines[0] if lines and isinstance(lines[0], Mapping) else {}
        if (head.get("format"), head.get("version")) != (FORMAT, VERSION):
            told = f"{head.get('format')!r} {head.get('version')!r}"
            raise FormatError(
                f"{who}: must begin with the head of a timeline, {FORMAT!r} {VERSION}, "
                f"got {told}. A newer file needs a newer daskdl."
            )
        try:
            return cls.from_dict({"bin_s": head["bin_s"], "lanes": lines[1:]})
        except (KeyError, TypeError, ValueError) as error:
            raise FormatError(
                f"{who}: must hold a lane in each line behind the first, got one that "
                f"is none: {error!r}."
            ) from error

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Timeline":
        """Return the timeline whose fields ``dataclasses.asdict`` made plain values."""
        bin_s = float(values["bin_s"])
        if not LEAST_BIN_S <= bin_s < math.inf:
            raise ValueError(f"bin_s must be at least {LEAST_BIN_S:g}, got {bin_s!r}")
        return cls(bin_s, [_lane(one) for one in values["lanes"]])


def _extend(lane: Lane, first: int, last: int) -> None:
    """Add empty bins in front and behind, so that these are there."""
    if not lane.micros:
        lane.first = first
    elif first < lane.first:
        before = range(lane.first - first)
        lane.micros[:0] = [[0] * len(ACTIVITIES) for _ in before]
        lane.first = first
    while len(lane.micros) <= last - lane.first:
        lane.micros.append([0] * len(ACTIVITIES))


def _lane(values: Mapping[str, Any]) -> Lane:
    latest = [(float(at), str(name), float(s)) for at, name, s in values["latest"]]
    micros = [[int(us) for us in row] for row in values["micros"]]
    if any(len(row) != len(ACTIVITIES) for row in micros):
        raise ValueError(f"a bin must have {len(ACTIVITIES)} numbers")
    return Lane(**{**values, "latest": latest, "micros": micros})
