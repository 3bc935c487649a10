"""What each worker did when, as lanes of one page. Pure.

A lane is one picture that is as wide as the page is; its labels are text of the page,
so that they are as large on a telephone. Colours are classes of the style sheet.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from daskdl.cluster.stats.charts import marked, nice_ticks
from daskdl.nn.fitting.events import FitReport, WorkerLost
from daskdl.nn.fitting.timeline import ACTIVITIES, Lane, Timeline

__all__ = ["timeline"]

WORDS = {
    "read": "reads: waits for its next minibatch to be read",
    "compute": "computes gradients and updates",
    "encode": "encodes and sends what it shares",
    "wait": "waits for others",
    "take_in": "takes in what others shared",
    "average": "averages, or adds up",
}
# From the bottom of a lane: what is wanted first.
_STACK = ("compute", "encode", "take_in", "average", "read", "wait")
_HEIGHT = 50  # of a lane in its own units, more than it has pixels
# Twice as many as there are pixels on a telephone; of a hundred lanes that is a
# megabyte less.
_MOST_BINS, _FEWER_BINS = 400, 200
_MANY_LANES, _VERY_MANY_LANES = 16, 40
_MOST_LANES = 256
_ZOOMED_LANES, _ZOOMED_WIDTH = 16, 2000


def timeline(report: FitReport) -> str:
    """Return the timeline of a fit; an empty text if none was measured."""
    lines = report.timeline
    if not lines.lanes:
        return ""
    shown = lines.lanes[:_MOST_LANES]
    scale = _Scale.of(report)
    kind = "many" if len(shown) > _MANY_LANES else "few"
    if len(shown) > _VERY_MANY_LANES:
        kind = "very-many"
    moments = _moments(report, scale)
    gone = _by_lane(report, lines)
    lanes = "".join(_lane(one, lines, scale, gone.get(id(one))) for one in shown)
    left = len(lines.lanes) - len(shown)
    more = f"<p>{left:,} more that joined later are not shown.</p>" if left else ""
    return (
        f"{_legend(lines.lanes)}"
        f'<div class="timeline {kind}">{_marks(moments)}{lanes}'
        f"{_across(moments)}{_axis(scale)}</div>{more}{_zoom(lines)}{_totals(lines)}"
    )


@dataclass(frozen=True)
class _Scale:
    """The time that is shown, and how its ticks are told."""

    end_s: float
    unit_s: float
    unit: str

    @classmethod
    def of(cls, report: FitReport) -> "_Scale":
        lanes, bin_s = report.timeline.lanes, report.timeline.bin_s
        last = max(lane.first + len(lane.micros) for lane in lanes) * bin_s
        # The last bin ends behind the fit.
        end_s = min(report.wall_s, last) if report.wall_s else last
        for unit, unit_s in (("hours", 3600.0), ("minutes", 60.0)):
            if end_s >= 3 * unit_s:
                return cls(end_s, unit_s, unit)
        return cls(end_s or last, 1.0, "seconds")

    def percent(self, time_s: float) -> float:
        return round(100 * min(max(time_s / self.end_s, 0.0), 1.0), 2)

    def told(self, time_s: float) -> str:
        return f"{time_s / self.unit_s:,.1f} {self.unit}"


@dataclass(frozen=True)
class _Moment:
    percent: float
    title: str
    kind: str  # "epoch", "lost" or "joined"


def _moments(report: FitReport, scale: _Scale) -> list[_Moment]:
    found = [
        _Moment(scale.percent(e.time_s), f"end of epoch {e.epoch}", "epoch")
        for e in marked(report.epochs)
    ]
    for event in report.worker_events:
        at = scale.percent(event.time_s), f"at {scale.told(event.time_s)}"
        if isinstance(event, WorkerLost):
            found.append(_Moment(at[0], f"{event.worker} lost {at[1]}", "lost"))
        else:
            workers = ", ".join(event.workers)
            found.append(_Moment(at[0], f"{workers} joined {at[1]}", "joined"))
    return found


def _by_lane(report: FitReport, lines: Timeline) -> dict[int, WorkerLost]:
    """Return who was lost, by the id of its lane: the last one that began before."""
    found = {}
    for event in report.lost:
        began = [
            lane
            for lane in lines.lanes
            if lane.worker == event.worker and lane.first * lines.bin_s <= event.time_s
        ]
        if began:
            found[id(began[-1])] = event
    return found


def _legend(lanes: Sequence[Lane]) -> str:
    there = {name for lane in lanes for name, s in lane.seconds.items() if s}
    items = "".join(
        f'<li class="{name}">{escape(WORDS[name])}</li>'
        for name in _STACK
        if name in there
    )
    return f'<ul class="legend activities">{items}</ul>'


def _marks(moments: Iterable[_Moment]) -> str:
    """Return a lane of marks, whose titles say what they are."""
    marks = "".join(
        f'<i class="{one.kind}" style="left:{one.percent}%" '
        f'title="{escape(one.title)}"></i>'
        for one in moments
    )
    return (
        '<div class="lane moments"><span class="who">epochs, workers</span>'
        f'<div class="bar">{marks}</div></div>'
    )


def _across(moments: Iterable[_Moment]) -> str:
    """Return lines across all lanes."""
    lines = "".join(
        f'<i class="{one.kind}" style="left:{one.percent}%"></i>' for one in moments
    )
    return f'<div class="across" aria-hidden="true">{lines}</div>'


def _axis(scale: _Scale) -> str:
    end = scale.end_s / scale.unit_s
    ticks = "".join(
        f'<span style="left:{scale.percent(tick * scale.unit_s)}%">{tick:,.10g}</span>'
        for tick in nice_ticks(0.0, end)
        if tick <= end
    )
    return (
        f'<div class="lane axis"><span class="who">{scale.unit}</span>'
        f'<div class="bar">{ticks}</div></div>'
    )


def _lane(one: Lane, lines: Timeline, scale: _Scale, lost: WorkerLost | None) -> str:
    seconds = one.seconds
    told = [f"{name.replace('_', ' ')} {s:,.1f} s" for name, s in seconds.items() if s]
    if lost is not None:
        reason = f", {lost.reason}" if lost.reason else ""
        told.insert(0, f"lost at {scale.told(lost.time_s)}{reason}")
    title = escape(f"{one.worker}: {', '.join(told)}")
    bins = scale.end_s / lines.bin_s
    most = _MOST_BINS if len(lines.lanes) <= _MANY_LANES else _FEWER_BINS
    size = math.ceil(bins / most)
    paths = _areas(one, size, lines.bin_s)
    end = ""
    if lost is not None:
        at = round(lost.time_s / lines.bin_s / size, 2)
        end = f'<path class="lost" d="M{at} 0V{_HEIGHT}"/>'
    name = escape(one.worker.rpartition("://")[2])
    sign = "✕ " if lost is not None else ""
    return (
        f'<div class="lane" title="{title}"><span class="who">{sign}{name}</span>'
        f'<svg class="bar" viewBox="0 0 {round(bins / size, 2)} {_HEIGHT}" '
        f'preserveAspectRatio="none" role="img" aria-label="{title}">{paths}{end}</svg>'
        "</div>"
    )


def _areas(lane: Lane, size: int, bin_s: float) -> str:
    """Return an area for each activity, the highest one first, as others hide it.

    Each goes from the bottom to the sum of its share and of those below, so that it has
    one edge only.
    """
    columns, first = _grouped(lane, size)
    full = 1e6 * bin_s * size
    places = [ACTIVITIES.index(name) for name in _STACK]
    sums = [[0.0] for _ in columns]
    for row, sum_of in zip(columns, sums, strict=True):
        for place in places:
            sum_of.append(sum_of[-1] + row[place])
    found = []
    for number, name in enumerate(_STACK, start=1):
        if not any(row[places[number - 1]] for row in columns):
            continue
        # Rounding of clocks may give a bin more than its time.
        tops = [min(round(_HEIGHT * one[number] / full), _HEIGHT) for one in sums]
        found.append(f'<path class="{name}" d="{_steps(first, tops)}"/>')
    return "".join(reversed(found))


def _grouped(lane: Lane, size: int) -> tuple[list[list[int]], int]:
    """Return sums of so many bins each, and the number of the first sum."""
    first = lane.first // size
    columns: list[list[int]] = []
    for number, row in enumerate(lane.micros, start=lane.first):
        if number // size - first >= len(columns):
            columns.append(list(row))
        else:
            columns[-1] = [a + b for a, b in zip(columns[-1], row, strict=True)]
    return columns, first


def _steps(first: int, tops: Sequence[int]) -> str:
    """Return the outline of columns of width 1 that stand on the bottom."""
    parts, height, width = [f"M{first} {_HEIGHT}"], 0, 0
    for top in tops:
        if top != height:
            parts.append(f"h{width}v{height - top}" if width else f"v{height - top}")
            height, width = top, 0
        width += 1
    parts.append(f"h{width}V{_HEIGHT}z")
    return "".join(parts)


def _zoom(lines: Timeline) -> str:
    """Return the last moments of the fit, span by span."""
    there = [lane for lane in lines.lanes if lane.latest]
    if not there:
        return ""
    end_s = max(at + took for lane in there for at, _, took in lane.latest)
    # All have spans of the last moments; some had more to do, and reach less far back.
    start_s = max(lane.latest[0][0] for lane in there)
    start_s = start_s if start_s < end_s else min(lane.latest[0][0] for lane in there)
    shown = there[:_ZOOMED_LANES]
    lanes = "".join(_zoomed(lane, start_s, end_s) for lane in shown)
    of = f" of {len(shown)} workers" if len(shown) < len(there) else ""
    return (
        f"<h3>The last {1000 * (end_s - start_s):,.0f} milliseconds{of}</h3>"
        f'<div class="timeline few">{lanes}</div>'
    )


def _zoomed(lane: Lane, start_s: float, end_s: float) -> str:
    paths: dict[str, list[str]] = {}
    for at_s, name, took_s in lane.latest:
        left, right = (
            round(_ZOOMED_WIDTH * (moment_s - start_s) / (end_s - start_s))
            for moment_s in (at_s, at_s + took_s)
        )
        # What is over in no time is seen, too.
        right = max(right, left + 1)
        if right > 0 and name in WORDS:
            left = max(left, 0)
            paths.setdefault(name, []).append(f"M{left} 0h{right - left}v1H{left}z")
    areas = "".join(f'<path class="{n}" d="{"".join(d)}"/>' for n, d in paths.items())
    name = escape(lane.worker.rpartition("://")[2])
    return (
        f'<div class="lane"><span class="who">{name}</span>'
        f'<svg class="bar" viewBox="0 0 {_ZOOMED_WIDTH} 1" preserveAspectRatio="none" '
        f'role="img" aria-label="{name}">{areas}</svg></div>'
    )


def _totals(lines: Timeline) -> str:
    there = [n for n in ACTIVITIES if any(lane.seconds[n] for lane in lines.lanes)]
    names = [name.replace("_", " ") for name in there]
    head = ("worker", "minibatches", *names, "clock off by")
    top = "".join(f'<th scope="col">{escape(name)}</th>' for name in head)
    rows = "".join(_total(lane, lane.seconds, there) for lane in lines.lanes)
    return (
        "<details><summary>Seconds of each worker</summary>"
        f'<div class="scroll"><table><thead><tr>{top}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div></details>"
    )


def _total(lane: Lane, seconds: Mapping[str, float], there: Sequence[str]) -> str:
    cells = (
        lane.worker,
        f"{lane.minibatches:,}",
        *(f"{seconds[name]:,.1f}" for name in there),
        f"{1e3 * lane.clock_offset_s:,.1f} ± {1e3 * lane.clock_error_s:,.1f} ms",
    )
    return "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"
