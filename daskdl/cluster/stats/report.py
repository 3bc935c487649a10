"""The report of a run as one HTML page that needs nothing else, and no network.

A pure function of what was measured; colours follow the reader's light or dark setting.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape

import numpy as np

from daskdl.cluster.stats.charts import Chart, Marker, line_chart, marked
from daskdl.cluster.stats.evaluation_charts import (
    heat_map,
    precision_recall_figure,
    reliability_figure,
    roc_figure,
    strength,
)
from daskdl.cluster.stats.html import html_facts, html_page, html_section, html_table
from daskdl.cluster.stats.timeline_chart import timeline
from daskdl.evaluation.calibration import EvaluationCalibration
from daskdl.evaluation.roc import ROC
from daskdl.evaluation.roc_columns import ColumnRocs
from daskdl.nn.fitting.events import (
    FitReport,
    WorkerLost,
    WorkersJoined,
    WorkersRejoined,
)

__all__ = ["EvaluationSummary", "curves", "render_report"]

# Above this many classes the numbers in a matrix cannot be read.
_MOST_CLASSES = 40
_MOST_CONFUSIONS = 30


@dataclass(frozen=True, kw_only=True)
class EvaluationSummary:
    """The part of an evaluation that the report's page shows.

    Parameters
    ----------
    name : str
        What was evaluated on.
    metrics : mapping of str to number or text
        Shown in this order; numbers with four significant digits.
    confusion : sequence of sequences of int, optional
        Row i, column j: examples of class i that were predicted as j.
    labels : sequence of str, optional
        Names of the classes; their numbers if empty.
    roc : ROC, ROCBinary or ROCMultiClass, optional
        Whose curves are drawn.
    calibration : EvaluationCalibration, optional
        Whose reliability diagrams are drawn.
    drawn : str
        The curves of both as :func:`curves` drew them, where they are not kept.
    """

    name: str
    metrics: Mapping[str, float | str]
    confusion: Sequence[Sequence[int]] = ()
    labels: Sequence[str] = field(default=())
    roc: ROC | ColumnRocs | None = None
    calibration: EvaluationCalibration | None = None
    drawn: str = ""


def render_report(
    report: FitReport,
    *,
    title: str,
    summary: Mapping[str, str],
    job: str = "",
    network: str = "",
    evaluation: EvaluationSummary | None = None,
    versions: Mapping[str, str] | None = None,
) -> str:
    """Return the page.

    Parameters
    ----------
    report : FitReport
        What the fit did.
    title : str
        Of the page.
    summary : mapping of str to str
        Facts for the top of the page, in order.
    job, network : str
        The job as YAML and the network's summary, shown as they are.
    evaluation : EvaluationSummary, optional
        Of the test data.
    versions : mapping of str to str, optional
        Of the packages that ran.

    Returns
    -------
    str
        HTML; refers to no other file or address.
    """
    sections = [
        html_section("", html_facts(summary)),
        html_section("Score", line_chart(_score_chart(report))),
        html_section("Throughput", line_chart(_throughput_chart(report))),
        html_section("Timeline", timeline(report)) if report.timeline.lanes else "",
        html_section("Evaluation", _evaluation(evaluation)) if evaluation else "",
        html_section("Epochs", _epochs(report)),
        html_section("Workers", _workers(report)),
        html_section("Residuals", _residuals(report)) if report.residuals else "",
        html_section("Network", _text(network)) if network else "",
        html_section("Job", _text(job)) if job else "",
        html_section("Versions", html_facts(versions)) if versions else "",
    ]
    return html_page(title, "".join(sections))


def _score_chart(report: FitReport) -> Chart:
    starts = _epoch_starts(report)
    epochs = [(starts[e.epoch] + e.examples, e.score) for e in report.epochs]
    within = [(starts.get(e.epoch, 0) + e.examples, e.score) for e in report.progress]
    return Chart(
        # Epochs of a fraction of a second have no progress to tell within them.
        points=within if len(within) > len(epochs) else epochs,
        x_label="examples",
        y_label="score",
        markers=[
            Marker(starts[e.epoch] + e.examples, f"end of epoch {e.epoch}")
            for e in marked(report.epochs)
        ],
    )


def _throughput_chart(report: FitReport) -> Chart:
    return Chart(
        points=[(e.time_s, e.examples_per_s) for e in report.progress],
        x_label="seconds",
        y_label="examples per second",
        markers=[
            Marker(e.time_s, f"worker {e.worker} lost at {e.time_s:.1f} s", "lost")
            for e in report.lost
        ],
        from_zero=True,
    )


def _epoch_starts(report: FitReport) -> dict[int, int]:
    """Return the number of examples trained before each epoch began."""
    starts: dict[int, int] = {}
    examples = 0
    for event in report.epochs:
        starts[event.epoch] = examples
        examples += event.examples
    # The epoch that was under way when the fit ended early.
    starts[len(starts) + 1] = examples
    return starts


def _evaluation(evaluation: EvaluationSummary) -> str:
    facts = {
        name: value if isinstance(value, str) else f"{value:.4g}"
        for name, value in evaluation.metrics.items()
    }
    matrix = _confusion(evaluation) if len(evaluation.confusion) else ""
    figures = curves(evaluation)
    return f"<p>on {escape(evaluation.name)}</p>{html_facts(facts)}{figures}{matrix}"


def curves(evaluation: EvaluationSummary) -> str:
    """Return the curves of an evaluation as HTML; an empty text without any."""
    if evaluation.drawn:
        return evaluation.drawn
    found = []
    if evaluation.roc is not None:
        found.append(roc_figure(evaluation.roc, evaluation.labels))
        found.append(precision_recall_figure(evaluation.roc, evaluation.labels))
    if evaluation.calibration is not None:
        found.append(reliability_figure(evaluation.calibration, evaluation.labels))
    return f'<div class="figures">{"".join(found)}</div>' if found else ""


def _confusion(evaluation: EvaluationSummary) -> str:
    counts = evaluation.confusion
    labels = list(evaluation.labels) or [str(number) for number in range(len(counts))]
    if len(counts) > _MOST_CLASSES:
        map_of_all = heat_map(np.asarray(counts), labels)
        head = "<h3>Confusion matrix</h3>" if map_of_all else ""
        return head + map_of_all + _worst_confusions(counts, labels)
    head = "".join(f'<th scope="col">{escape(label)}</th>' for label in labels)
    rows = "".join(
        f'<tr><th scope="row">{escape(labels[actual])}</th>'
        + "".join(_cell(labels, actual, other, row) for other in range(len(row)))
        + "</tr>"
        for actual, row in enumerate(counts)
    )
    return (
        '<h3>Confusion matrix</h3><div class="scroll"><table class="matrix">'
        "<caption>rows: actual class, columns: predicted class</caption>"
        f"<thead><tr><th></th>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _cell(
    labels: Sequence[str], actual: int, predicted: int, row: Sequence[int]
) -> str:
    count, total = row[predicted], sum(row)
    share = count / total if total else 0.0
    kind = "right" if actual == predicted else "wrong"
    title = (
        f"actual {labels[actual]}, predicted {labels[predicted]}: {count:,} "
        f"of {total:,} ({share:.1%})"
    )
    percent = strength(count, total)
    dark = " strong" if percent > 55 else ""
    return (
        f'<td class="{kind}{dark}" style="--share:{percent}%" '
        f'title="{escape(title)}">{count or ""}</td>'
    )


def _worst_confusions(counts: Sequence[Sequence[int]], labels: Sequence[str]) -> str:
    worst = sorted(
        (
            (count, actual, predicted)
            for actual, row in enumerate(counts)
            for predicted, count in enumerate(row)
            if count and actual != predicted
        ),
        reverse=True,
    )[:_MOST_CONFUSIONS]
    return "<h3>Most frequent confusions</h3>" + html_table(
        ("actual", "predicted", "examples"),
        ((labels[actual], labels[other], f"{n:,}") for n, actual, other in worst),
    )


def _epochs(report: FitReport) -> str:
    failed = "".join(
        f"<p>No checkpoint after epoch {e.epoch}: {escape(e.reason)}</p>"
        for e in report.failed_checkpoints
    )
    names = list(dict.fromkeys(name for e in report.epochs for name in e.values))
    return failed + html_table(
        ("epoch", "examples", "score", *names, "seconds", "examples/s", "workers"),
        (
            (
                str(e.epoch),
                f"{e.examples:,}",
                f"{e.score:.5g}",
                *(f"{e.values[n]:.5g}" if n in e.values else "" for n in names),
                f"{e.wall_s:.2f}",
                f"{e.examples / e.wall_s:,.0f}" if e.wall_s else "",
                str(e.workers),
            )
            for e in report.epochs
        ),
    )


def _workers(report: FitReport) -> str:
    missing = report.missing_workers
    table = html_table(
        ("worker", "at the end"),
        (
            (name, "lost" if name in missing else "there")
            for name in dict.fromkeys([*report.workers, *report.joined_workers])
        ),
    )
    table += "".join(
        f"<p>Left out: worker {escape(e.worker)}: {escape(e.reason)}</p>"
        for e in report.left_out
    )
    if report.worker_events:
        table += "<h3>Lost and joined workers</h3>" + html_table(
            ("worker", "", "why", "at", "epoch", "dealt again", "may count twice"),
            map(_worker_row, report.worker_events),
        )
    if not report.lost:
        return table + "<p>No worker was lost; no example was repeated.</p>"
    return (
        f"{table}<p>{report.repeated_examples:,} examples were repeated in all; "
        "none was left out.</p>"
    )


def _worker_row(event: WorkerLost | WorkersJoined | WorkersRejoined) -> Sequence[str]:
    at = f"{event.time_s:.1f} s"
    if isinstance(event, WorkerLost):
        redealt, repeated = event.redealt_examples, event.repeated_examples
        epoch = str(event.epoch)
        counted = (f"{redealt:,}", f"{repeated:,}")
        return event.worker, "lost", event.reason, at, epoch, *counted
    workers = ", ".join(event.workers)
    if isinstance(event, WorkersJoined):
        return workers, "joined", "", at, str(event.epoch), "", ""
    what = f"all had gone; went on from a snapshot behind epoch {event.epoch}"
    return workers, what, "", at, "", "", f"{event.repeated_examples:,}"


def _residuals(report: FitReport) -> str:
    last = {event.worker: event for event in report.residuals}
    names = [f"{name} %" for name in report.residuals[0].percentiles]
    return "<p>Magnitudes before each worker's last encoded message.</p>" + html_table(
        ("worker", "iteration", "threshold", "reach it", "mean", *names, "largest"),
        (
            (
                e.worker,
                str(e.iteration),
                f"{e.threshold:.3g}",
                f"{e.reached:,} of {e.length:,}",
                *(f"{x:.3g}" for x in (e.mean, *e.percentiles.values(), e.largest)),
            )
            for e in last.values()
        ),
    )


def _text(text: str) -> str:
    return f"<pre>{escape(text)}</pre>"
