"""Charts of an evaluation as SVG text: ROC, precision/recall, reliability, confusions.

Pure; colours are classes of the page's style sheet.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from numpy.typing import NDArray

from daskdl.cluster.stats.frame import Frame, axis_labels, grid, polyline
from daskdl.evaluation.calibration import EvaluationCalibration
from daskdl.evaluation.roc import ROC
from daskdl.evaluation.roc_columns import ColumnRocs

__all__ = [
    "heat_map",
    "precision_recall_figure",
    "reliability_figure",
    "roc_figure",
]

_SIZE = 420
_TICKS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
# As many colours as the style sheet has and an eye tells apart.
_MOST_SERIES = 8
# Two pixels of the plot: points nearer than that to the last one are not drawn.
_PIXELS = 2 / 350
# More rectangles than this make the page slow, and each less than two pixels wide.
_MOST_CLASSES = 200


@dataclass(frozen=True)
class _Series:
    """A line with a title for each of its points; `quality` ranks it, worst first."""

    name: str
    quality: float
    legend: str
    points: Sequence[tuple[float, float]]
    titles: Sequence[str]


def roc_figure(evaluation: ROC | ColumnRocs, labels: Sequence[str] = ()) -> str:
    """Return the ROC curves, one a class or output, as a ``<figure>``.

    Parameters
    ----------
    evaluation : ROC, ROCBinary or ROCMultiClass
    labels : sequence of str
        Names of the columns; numbers if empty.

    Returns
    -------
    str
        Of at most eight columns, those of the smallest areas; a sentence if there are
        no data.
    """
    series = []
    for name, roc in _columns(evaluation, labels):
        curve = roc.roc_curve()
        titles = [
            f"{tpr:.1%} found at {fpr:.1%} false alarms, from {at:.4g} on"
            for at, fpr, tpr in zip(curve.threshold, curve.fpr, curve.tpr, strict=True)
        ]
        points = list(zip(curve.fpr.tolist(), curve.tpr.tolist(), strict=True))
        area = curve.area()
        series.append(_Series(name, area, f"area {area:.4f}", points, titles))
    return _figure(
        "ROC", series, "false positive rate", "true positive rate", diagonal=True
    )


def precision_recall_figure(
    evaluation: ROC | ColumnRocs, labels: Sequence[str] = ()
) -> str:
    """Return the precision/recall curves as a ``<figure>``; see :func:`roc_figure`."""
    series = []
    for name, roc in _columns(evaluation, labels):
        curve = roc.precision_recall_curve()
        rows = list(zip(curve.threshold, curve.recall, curve.precision, strict=True))
        titles = [
            f"{recall:.1%} found, {precision:.1%} of the found are right, "
            f"from {at:.4g} on"
            for at, recall, precision in rows
        ]
        points = [(float(recall), float(precision)) for _, recall, precision in rows]
        area = curve.area()
        series.append(_Series(name, area, f"area {area:.4f}", points, titles))
    return _figure("Precision and recall", series, "recall", "precision")


def reliability_figure(
    evaluation: EvaluationCalibration, labels: Sequence[str] = ()
) -> str:
    """Return the reliability diagrams of all classes as a ``<figure>``.

    Of more than eight classes those with the largest expected calibration error are
    drawn.
    """
    series = []
    for number in range(evaluation.n_classes):
        diagram = evaluation.reliability_diagram(number)
        rows = [
            (float(x), float(y))
            for x, y in zip(
                diagram.mean_predicted_value, diagram.fraction_positives, strict=True
            )
            if math.isfinite(x)
        ]
        titles = [f"predicted {x:.1%} on average, came {y:.1%}" for x, y in rows]
        error = evaluation.expected_calibration_error(number)
        name, legend = _name(labels, number), f"error {error:.4f}"
        series.append(_Series(name, -error, legend, rows, titles))
    return _figure(
        "Reliability",
        series,
        "mean predicted probability",
        "share that is of the class",
        diagonal=True,
        dots=True,
    )


def heat_map(counts: NDArray[np.int64], labels: Sequence[str] = ()) -> str:
    """Return a confusion matrix as coloured squares without numbers.

    Parameters
    ----------
    counts : ndarray of shape (n_classes, n_classes), int
        Row i, column j: examples of class i that were predicted as j.
    labels : sequence of str
        Names of the classes; numbers if empty.

    Returns
    -------
    str
        An ``<svg>`` element and a line below it; empty for more than 200 classes,
        whose squares nobody could tell apart.
    """
    n_classes = len(counts)
    if not 0 < n_classes <= _MOST_CLASSES:
        return ""
    size = (_SIZE * 2) / n_classes
    totals = counts.sum(axis=1)
    cells = []
    for actual, predicted in zip(*np.nonzero(counts), strict=True):
        count, total = int(counts[actual, predicted]), int(totals[actual])
        kind = "right" if actual == predicted else "wrong"
        title = escape(
            f"actual {_name(labels, actual)}, predicted {_name(labels, predicted)}: "
            f"{count:,} of {total:,} ({count / total:.1%})"
        )
        cells.append(
            f'<rect class="{kind}" style="--share:{strength(count, total)}%" '
            f'x="{predicted * size:.2f}" y="{actual * size:.2f}" '
            f'width="{size:.2f}" height="{size:.2f}"><title>{title}</title></rect>'
        )
    return (
        f'<svg class="heat" viewBox="0 0 {_SIZE * 2} {_SIZE * 2}" role="img" '
        'aria-label="Confusion matrix: rows are actual, columns predicted classes">'
        f"{''.join(cells)}</svg><p>rows: actual class, columns: predicted class</p>"
    )


def strength(count: int, total: int) -> int:
    """Return the strength of a count's colour within its row, in percent."""
    if not count:
        return 0
    # Even one mistake must be seen: strong colours begin at a tenth.
    return round(100 * min(1.0, 0.12 + 0.88 * count / total))


def _columns(
    evaluation: ROC | ColumnRocs, labels: Sequence[str]
) -> list[tuple[str, ROC]]:
    if isinstance(evaluation, ROC):
        return [("", evaluation)] if evaluation.example_count else []
    return [
        (_name(labels or evaluation.labels or (), number), roc)
        for number, roc in enumerate(evaluation.rocs)
        if roc.count_actual_positive and roc.count_actual_negative
    ]


def _name(labels: Sequence[str], number: int) -> str:
    return labels[number] if labels else str(number)


def _figure(
    title: str,
    series: Sequence[_Series],
    x_label: str,
    y_label: str,
    *,
    diagonal: bool = False,
    dots: bool = False,
) -> str:
    head = f"<h3>{escape(title)}</h3>"
    if not series:
        return f"<figure>{head}<p>There are no examples of two classes.</p></figure>"
    ranked = sorted(range(len(series)), key=lambda i: series[i].quality)
    drawn = [series[i] for i in sorted(ranked[:_MOST_SERIES])]
    frame = Frame(
        width=_SIZE,
        height=_SIZE,
        x_low=0.0,
        x_high=1.0,
        y_low=0.0,
        y_high=1.0,
        left=56,
        right=14,
    )
    parts = [
        *grid(frame, _TICKS, _TICKS),
        *axis_labels(frame, x_label, y_label),
        polyline(frame, [(0.0, 0.0), (1.0, 1.0)], "chance") if diagonal else "",
        *(_drawn(frame, one, i, dots=dots) for i, one in enumerate(drawn)),
    ]
    legend = "".join(_entry(one, i) for i, one in enumerate(drawn))
    note = (
        f"<p>the {len(drawn)} worst of {len(series)}</p>"
        if len(drawn) < len(series)
        else ""
    )
    return (
        f'<figure>{head}<svg viewBox="0 0 {_SIZE} {_SIZE}" role="img" '
        f'aria-label="{escape(title)}">{"".join(parts)}</svg>'
        f'<figcaption><ul class="legend">{legend}</ul>{note}</figcaption></figure>'
    )


def _drawn(frame: Frame, series: _Series, number: int, *, dots: bool) -> str:
    chosen = _far_enough(series.points)
    points = [series.points[i] for i in chosen]
    kind = "dot" if dots else "point"
    hovers = "".join(
        f'<circle class="{kind}" cx="{frame.x(x)}" cy="{frame.y(y)}" r="4">'
        f"<title>{escape(_hover(series, i))}</title></circle>"
        for i, (x, y) in zip(chosen, points, strict=True)
    )
    return f'<g class="series s{number}">{polyline(frame, points, "line")}{hovers}</g>'


def _hover(series: _Series, point: int) -> str:
    text = series.titles[point]
    return f"{series.name}: {text}" if series.name else text


def _entry(series: _Series, number: int) -> str:
    text = escape(f"{series.name} {series.legend}".strip())
    return f'<li class="s{number}">{text}</li>'


def _far_enough(points: Sequence[tuple[float, float]]) -> list[int]:
    """Return the indices of points that do not fall upon the one before."""
    chosen: list[int] = []
    for i, (x, y) in enumerate(points):
        if chosen:
            last_x, last_y = points[chosen[-1]]
            if abs(x - last_x) < _PIXELS and abs(y - last_y) < _PIXELS:
                continue
        chosen.append(i)
    return chosen
