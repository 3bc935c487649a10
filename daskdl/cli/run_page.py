"""The page of a run, and what it is remade from."""

import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from daskdl.cli.run_directory import (
    EVALUATION,
    JOB,
    PAGE,
    STATISTICS,
    TIMELINE,
    is_of_one_run,
)
from daskdl.cli.run_metrics import (
    in_words,
    size_in_words,
    without_nan,
    workers_in_words,
)
from daskdl.cluster.stats.report import EvaluationSummary, curves, render_report
from daskdl.data.filesystems import filesystem
from daskdl.data.store import kind_of
from daskdl.data.texts import read_text
from daskdl.dl4j.evaluation.reader import from_json
from daskdl.errors import FormatError, SourceNotFoundError
from daskdl.evaluation.evaluable import Evaluable
from daskdl.evaluation.evaluation import Evaluation
from daskdl.evaluation.evaluation_binary import EvaluationBinary
from daskdl.formats.load import load
from daskdl.formats.run_network import network_in
from daskdl.nn.fitting.events import FitReport, Staleness
from daskdl.nn.fitting.timeline import Timeline

__all__ = [
    "PageFacts",
    "accuracy_of",
    "evaluation_summary",
    "remade_page",
    "report_facts",
    "timeline_text",
]

_FORMAT, _VERSION = "daskdl-page", 1


@dataclass(frozen=True, kw_only=True)
class PageFacts:
    """What the page shows beside the job and the report of the fit.

    Parameters
    ----------
    summary : mapping of str to str
        Facts for the top of the page, in order.
    network : str
        Its summary.
    versions : mapping of str to str
        Of the packages that ran.
    evaluation : EvaluationSummary or None
        Of the test data.
    """

    summary: Mapping[str, str] = field(default_factory=dict)
    network: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    evaluation: EvaluationSummary | None = None

    def page(self, title: str, report: FitReport, job: str) -> str:
        """Return the HTML page."""
        return render_report(
            report,
            title=title,
            summary=self.summary,
            job=job,
            network=self.network,
            evaluation=self.evaluation,
            versions=self.versions,
        )

    def to_json(self) -> str:
        """Return a text from which :meth:`from_json` makes them again."""
        values = {"format": _FORMAT, "version": _VERSION, **vars(self)}
        shown = self.evaluation
        if shown is not None:
            # Counts of ROC curves take 85 kB a class; what is drawn of them does not.
            plain = replace(shown, roc=None, calibration=None, drawn=curves(shown))
            values["evaluation"] = asdict(plain)
        return json.dumps(without_nan(values), allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> "PageFacts":
        """Return the facts of which :meth:`to_json` made a text.

        Raises
        ------
        FormatError
            If it is none, or of a newer version.
        """
        values = _object(text)
        head = values.pop("format", None), values.pop("version", None)
        if head != (_FORMAT, _VERSION):
            raise FormatError(
                f"must be a {_FORMAT!r} {_VERSION}, got {head[0]!r} {head[1]!r}. A "
                "newer file needs a newer daskdl."
            )
        if values["evaluation"] is not None:
            shown = dict(values["evaluation"])
            shown["metrics"] = _with_nan(shown["metrics"])
            values["evaluation"] = EvaluationSummary(**shown)
        return cls(**values)


def accuracy_of(evaluation: Evaluable | None) -> float | None:
    """Return the accuracy, the mean over independent outputs; None for a regression."""
    if not isinstance(evaluation, Evaluation | EvaluationBinary):
        return None
    return evaluation.score_for_metric("ACCURACY")


def report_facts(report: FitReport) -> dict[str, str]:
    """Return what the top of the page tells of the fit."""
    peak = report.peak_worker_bytes
    facts = {
        "epochs": str(len(report.epochs)),
        "examples trained": f"{report.examples:,}",
        "skipped rows": f"{report.skipped:,}" if report.skipped else "",
        "examples per second": f"{report.examples_per_s:,.0f}",
        "training time": f"{report.wall_s:.1f} s",
        "workers": workers_in_words(
            len(report.workers), len(report.lost), len(report.joined_workers)
        ),
        "sent between workers": size_in_words(report.bytes_sent),
        "late by": _lateness(report.staleness),
        "largest worker": size_in_words(peak) if peak else "",
        "parts read": f"{report.loads:,}",
    }
    return {name: text for name, text in facts.items() if text}


def evaluation_summary(name: str, evaluation: Evaluable) -> EvaluationSummary:
    """Return what the page shows of an evaluation, without curves."""
    if not isinstance(evaluation, Evaluation):
        metrics = {m: evaluation.score_for_metric(m) for m in evaluation.METRICS}
        return EvaluationSummary(name=name, metrics=metrics)
    metrics = {
        "accuracy": evaluation.accuracy(),
        "precision": evaluation.precision(),
        "recall": evaluation.recall(),
        "F1": evaluation.f1(),
    }
    return EvaluationSummary(
        name=name,
        metrics=metrics,
        confusion=evaluation.confusion_matrix.tolist(),
        labels=evaluation.labels or (),
    )


def timeline_text(timeline: Timeline) -> str:
    """Return a timeline as lines of JSON."""
    lines = (json.dumps(line, allow_nan=False) for line in timeline.to_lines())
    return "".join(f"{line}\n" for line in lines)


def remade_page(url: str) -> str:
    """Return the page of the run in a directory, as daskdl now draws it.

    Runs of earlier versions kept less: then there is no timeline, and no curves.

    Parameters
    ----------
    url : str
        Path or URL of the directory.

    Raises
    ------
    SourceNotFoundError
        If there is none, or the run in it has not ended.
    FormatError
        If a file of it is damaged.
    """
    url = url.rstrip("/")
    _check_is_run(url)
    with _reading(url, STATISTICS) as text:
        report = _report_of(text)
    if _is_there(url, TIMELINE):
        with _reading(url, TIMELINE) as text:
            lines = [json.loads(line) for line in text.splitlines()]
            report.timeline = Timeline.from_lines("timeline", lines)
    if _is_there(url, PAGE):
        with _reading(url, PAGE) as text:
            facts = PageFacts.from_json(text)
    else:
        facts = _facts_of_files(url, report)
    job = read_text(f"{url}/{JOB}") if _is_there(url, JOB) else ""
    return facts.page(f"Run {url}", report, job)


def _check_is_run(url: str) -> None:
    fs, path = filesystem(url)
    if kind_of(fs, path) is None:
        raise SourceNotFoundError(
            f"report: RUN must be the directory of a run, nothing is at {url}."
        )
    if _is_there(url, STATISTICS):
        return
    if kind_of(fs, path) == "directory" and is_of_one_run(fs, path):
        raise SourceNotFoundError(
            f"report: RUN must be a run that has ended, got {url} without "
            f"{STATISTICS}: it goes on, or was cut short. Go on with: daskdl run "
            f"--resume {url}"
        )
    raise SourceNotFoundError(
        f"report: RUN must be the directory of a run (with {STATISTICS}), got {url}, "
        "which is something else."
    )


def _is_there(url: str, name: str) -> bool:
    return kind_of(*filesystem(f"{url}/{name}")) is not None


@contextmanager
def _reading(url: str, name: str) -> Iterator[str]:
    """Read a file, and say which one it is that is damaged."""
    text = read_text(f"{url}/{name}")
    try:
        yield text
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise FormatError(
            f"report: {url}/{name} must be what a run wrote, it is damaged: {error}"
        ) from error


def _object(text: str) -> dict[str, Any]:
    values = json.loads(text)
    if not isinstance(values, dict):
        raise FormatError(f"must be an object, got {type(values).__name__}")
    return values


def _report_of(text: str) -> FitReport:
    values = _object(text)
    # It stands in the summary.
    values.pop("early_stopping", None)
    for name, found in values.items():
        if isinstance(found, list):
            values[name] = [
                _with_nan(one) if isinstance(one, dict) else one for one in found
            ]
    return FitReport.from_dict(values)


def _with_nan(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values with NaN for null: numbers that JSON lacks were written so."""
    return {
        name: math.nan
        if value is None
        else (_with_nan(value) if isinstance(value, dict) else value)
        for name, value in values.items()
    }


def _facts_of_files(url: str, report: FitReport) -> PageFacts:
    """Return what can be told of a run whose version kept no facts for its page."""
    summary, shown = report_facts(report), None
    if _is_there(url, EVALUATION):
        with _reading(url, EVALUATION) as text:
            evaluation = from_json(text)
        shown = evaluation_summary("its test data", evaluation)
        accuracy = in_words(accuracy_of(evaluation), percent=True)
        summary = {"accuracy": accuracy, **summary} if accuracy else summary
    model = network_in(*filesystem(url))
    network = load(f"{url}/{model}").summary() if model else ""
    return PageFacts(summary=summary, network=network, evaluation=shown)


def _lateness(staleness: Staleness | None) -> str:
    if staleness is None:
        return ""
    return f"{staleness.mean:.1f} minibatches, at most {staleness.most}"
