"""The page in Dask's dashboard: what fits do, and did. Pure.

It needs no script and nothing else from anywhere: the browser loads it again.
"""

import time
from collections.abc import Iterable, Mapping
from html import escape

from daskdl.cluster.dashboard.kept_fits import EndedFit, KeptFits, RunningFit
from daskdl.cluster.stats.charts import Chart, Marker, line_chart
from daskdl.cluster.stats.html import html_facts, html_page, html_section, html_table
from daskdl.cluster.stats.timeline_chart import timeline
from daskdl.nn.fitting.events import WorkerLost

__all__ = ["draw_ended", "draw_fits"]


def draw_fits(fits: KeptFits, *, again_s: float, has_dashboard: bool) -> str:
    """Return the page of all fits.

    Parameters
    ----------
    fits : KeptFits
    again_s : float
        When the browser is to load it again.
    has_dashboard : bool
        Whether there is one of Dask beside it.
    """
    now = fits.clock()
    running = [_running(one, now - one.began_s) for one in fits.running.values()]
    if not running:
        running = ["<p>No fit runs.</p>"]
    if fits.left_out:
        running.append(f"<p>{fits.left_out:,} more began and are not shown.</p>")
    ended = _ended(fits.ended) if fits.ended else ""
    back = '<p><a href="status">Dask\'s dashboard</a></p>' if has_dashboard else ""
    refresh = f'<meta http-equiv="refresh" content="{again_s:.0f}">\n'
    return html_page("Fits on this cluster", "".join([back, *running, ended]), refresh)


def draw_ended(fit: RunningFit, how: str, took_s: float) -> str:
    """Return the page of one fit that has ended."""
    back = '<p><a href="../daskdl">All fits</a></p>'
    facts = {"took": _duration(took_s), "ended": how}
    return html_page(f"Fit {fit.number}", back + _body(fit, facts))


def _running(fit: RunningFit, took_s: float) -> str:
    body = _body(fit, {"took so far": _duration(took_s)})
    return html_section(f"Fit {fit.number}", body)


def _body(fit: RunningFit, facts: Mapping[str, str]) -> str:
    report = fit.report
    parts = [f"<p>{escape(fit.title)}</p>", html_facts({**facts, **_state(fit)})]
    if report.progress or report.epochs:
        parts.append("<h3>Score</h3>" + line_chart(_score_chart(fit)))
    if report.timeline.lanes:
        parts.append("<h3>What each worker did when</h3>" + timeline(report))
    if report.worker_events:
        parts.append("<h3>Lost and joined workers</h3>" + _changes(fit))
    return "".join(parts)


def _state(fit: RunningFit) -> dict[str, str]:
    """Return facts of a fit, those that are known."""
    facts = {"began": _moment(fit.began_at)}
    started, progress = fit.started, fit.progress
    if started is not None:
        facts["epoch"] = f"{fit.epoch:,} of {started.epochs:,}"
    if progress is not None:
        of = f" of {started.examples:,}" if started and started.examples else ""
        facts["examples in epoch"] = f"{progress.examples:,}{of}"
        facts["examples per second"] = f"{progress.examples_per_s:,.0f}"
        facts["workers"] = str(progress.workers)
        facts["score"] = f"{progress.score:.5g}"
    elif started is not None:
        facts["workers"] = str(len(started.workers))
    if fit.report.epochs:
        facts["score of last epoch"] = f"{fit.report.epochs[-1].score:.5g}"
    return facts


def _score_chart(fit: RunningFit) -> Chart:
    report = fit.report
    epochs = [(each.time_s, each.score) for each in report.epochs]
    within = [(each.time_s, each.score) for each in report.progress]
    lost = [
        Marker(each.time_s, f"worker {each.worker} lost", "lost")
        for each in report.lost
    ]
    return Chart(
        # Epochs of a fraction of a second have no progress to tell within them.
        points=within if len(within) > len(epochs) else epochs,
        x_label="seconds",
        y_label="score",
        markers=lost,
    )


def _changes(fit: RunningFit) -> str:
    rows = []
    for event in fit.report.worker_events:
        at = f"{event.time_s:,.1f} s"
        if isinstance(event, WorkerLost):
            rows.append((event.worker, "lost", event.reason, at, str(event.epoch)))
        else:
            workers = ", ".join(event.workers)
            rows.append((workers, "joined", "", at, str(event.epoch)))
    return html_table(("worker", "", "why", "at", "epoch"), rows)


def _ended(fits: Iterable[EndedFit]) -> str:
    rows = "".join(
        f'<tr><td><a href="daskdl/{fit.number}">Fit {fit.number}</a></td>'
        f"<td>{escape(fit.title)}</td><td>{_moment(fit.began_at)}</td>"
        f"<td>{_duration(fit.took_s)}</td><td>{escape(fit.how)}</td></tr>"
        for fit in fits
    )
    head = "".join(f"<th>{name}</th>" for name in ("", "", "began", "took", "ended"))
    return (
        '<section><h2>The last fits</h2><div class="scroll"><table>'
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div></section>\n"
    )


def _moment(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))


def _duration(seconds: float) -> str:
    minutes, left = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {left} s" if minutes else f"{left} s"
