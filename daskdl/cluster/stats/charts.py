"""Line charts as SVG text: ticks, markers, a title on every point. Pure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TypeVar

from daskdl.cluster.stats.frame import Frame, axis_labels, grid, polyline

__all__ = ["Chart", "Marker", "line_chart", "marked", "nice_ticks"]

_WIDTH, _HEIGHT = 860, 280
# A point a pixel is all that a screen can show.
_MOST_POINTS = 400
_MOST_MARKED = 50

T = TypeVar("T")


@dataclass(frozen=True)
class Marker:
    """A vertical line across a chart: an epoch's end, a worker's death."""

    x: float
    title: str
    kind: str = "epoch"


@dataclass(frozen=True, kw_only=True)
class Chart:
    """A line chart: points, labels of the axes, and markers.

    Parameters
    ----------
    points : sequence of (x, y)
        In order of x. Points whose y is not finite are left out.
    x_label, y_label : str
        Of the axes; also what the hover titles say.
    markers : sequence of Marker
        Lines across the chart.
    from_zero : bool
        Let the vertical axis begin at 0.
    """

    points: Sequence[tuple[float, float]]
    x_label: str
    y_label: str
    markers: Sequence[Marker] = ()
    from_zero: bool = False


def line_chart(chart: Chart) -> str:
    """Return the chart as an ``<svg>`` element; a sentence if there are no points.

    Notes
    -----
    More than 400 points are averaged in groups of neighbours. Colours are classes, to
    be set by the page's style sheet.
    """
    points = _thinned([(x, y) for x, y in chart.points if math.isfinite(y)])
    if not points:
        return "<p>Nothing was measured.</p>"
    x_high = max(x for x, _ in points)
    # The data fill the width; a rounder end would leave a gap that says nothing.
    x_ticks = [tick for tick in nice_ticks(0.0, x_high) if tick <= x_high]
    low = min(y for _, y in points)
    y_ticks = nice_ticks(0.0 if chart.from_zero else low, max(y for _, y in points))
    frame = Frame(
        width=_WIDTH,
        height=_HEIGHT,
        x_low=0.0,
        x_high=x_high or 1.0,
        y_low=y_ticks[0],
        y_high=y_ticks[-1],
    )
    parts = [
        *grid(frame, x_ticks, y_ticks),
        *axis_labels(frame, chart.x_label, chart.y_label),
        *(_marker(frame, marker) for marker in chart.markers),
        polyline(frame, points, "line"),
        *(_point(frame, chart, x, y) for x, y in points),
    ]
    name = escape(f"{chart.y_label} over {chart.x_label}")
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{name}">'
        f"{''.join(parts)}</svg>"
    )


def marked(epochs: Sequence[T]) -> Sequence[T]:
    """Return every nth of many epochs: as many as can be told apart as lines.

    They are counted from the last one, the end of the fit.
    """
    every = math.ceil(len(epochs) / _MOST_MARKED) or 1
    return epochs[::-1][::every]


def nice_ticks(low: float, high: float, about: int = 6) -> list[float]:
    """Return round numbers that cover `low` to `high` in equal steps of 1, 2 or 5.

    Examples
    --------
    >>> nice_ticks(0, 87)
    [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]
    """
    if not high > low:
        high = low + (abs(low) or 1.0)
    raw = (high - low) / (about - 1)
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= raw * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    # 3 * 0.1 is 0.30000000000000004; ten digits of the step's size are exact enough.
    digits = max(0, 10 - math.floor(math.log10(step)))
    return [round(number * step, digits) for number in range(first, last + 1)]


def _marker(frame: Frame, marker: Marker) -> str:
    x = frame.x(min(marker.x, frame.x_high))
    return (
        f'<line class="{escape(marker.kind)}" x1="{x}" x2="{x}" y1="{frame.top}" '
        f'y2="{frame.bottom_edge}"><title>{escape(marker.title)}</title></line>'
    )


def _point(frame: Frame, chart: Chart, x: float, y: float) -> str:
    title = escape(f"{chart.y_label} {y:,.4g} at {x:,.4g} {chart.x_label}")
    return (
        f'<circle class="point" cx="{frame.x(x)}" cy="{frame.y(y)}" r="4">'
        f"<title>{title}</title></circle>"
    )


def _thinned(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    size = math.ceil(len(points) / _MOST_POINTS)
    if size <= 1:
        return points
    groups = [points[start : start + size] for start in range(0, len(points), size)]
    return [
        (sum(x for x, _ in group) / len(group), sum(y for _, y in group) / len(group))
        for group in groups
    ]
