"""Bars of the ratios against their goals, as SVG."""

from collections.abc import Iterator, Sequence
from html import escape

from benchmarks.peers import TITLES
from benchmarks.report import Report
from benchmarks.results import Ratio, Row
from benchmarks.serve.layer_shapes import LAYER

_LEFT, _WIDTH, _RIGHT = 340, 480, 60
_BAR, _STEP, _TOP = 14, 20, 50
# Longer bars are cut off; the number beside them is not.
_LARGEST = 2.0
_REACHED, _MISSED, _OPEN = "#2a9d5c", "#d1495b", "#8d99ae"


def svg(reports: Sequence[Report]) -> str:
    """Return a picture with a bar for each ratio: the shorter, the faster daskdl is.

    A black mark is the goal; the grey line is where both need the same. Single layers
    are left out: there are too many. Of several runs the last one's date is told.
    """
    report = reports[-1]
    rows = [row for run in reports for row in run.rows if row.case != LAYER]
    bars = [(row, ratio) for row in rows for ratio in row.ratios]
    height = _TOP + _STEP * len(bars) + 20
    width = _LEFT + _WIDTH + _RIGHT
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}">',
        "<style>text {font: 12px sans-serif} .goal {stroke: black}</style>",
        f'<rect width="{width}" height="{height}" fill="white"/>',
        _text(10, 20, f"daskdl's time by the peer's, {report.date}"),
        _text(10, 36, f"{report.machine['cpu']}, threads: {report.threads}"),
        f'<path d="M{_x(1.0):.1f} {_TOP - 6}V{height - 14}" stroke="#8d99ae"/>',
        _text(_x(1.0) - 3, height - 2, "1"),
    ]
    for number, (row, ratio) in enumerate(bars):
        lines.extend(_bar(_TOP + _STEP * number, row, ratio))
    return "\n".join([*lines, "</svg>", ""])


def _bar(y: int, row: Row, ratio: Ratio) -> Iterator[str]:
    value, goal = ratio.ratio.median, ratio.goal
    colour = _OPEN if goal is None else _REACHED if value <= goal else _MISSED
    end = _x(min(value, _LARGEST))
    yield _text(10, y + _BAR - 3, f"{row.case} {row.what} / {TITLES[ratio.peer]}")
    yield (
        f'<rect x="{_LEFT}" y="{y}" width="{end - _LEFT:.1f}" height="{_BAR}" '
        f'fill="{colour}"/>'
    )
    if goal is not None:
        at = _x(min(goal, _LARGEST))
        yield f'<path class="goal" d="M{at:.1f} {y - 2}v{_BAR + 4}"/>'
    yield _text(max(end, _x(goal or 0)) + 6, y + _BAR - 3, f"{value:.2f}")


def _x(ratio: float) -> float:
    return _LEFT + _WIDTH * ratio / _LARGEST


def _text(x: float, y: float, words: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}">{escape(words)}</text>'
