"""What came out of a run, as figures, files and a page."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from daskdl.cli.figures import Figures, in_words, size_in_words
from daskdl.cli.job import Job
from daskdl.cli.job_file import job_text
from daskdl.cli.versions import versions_here
from daskdl.cluster.inference import Scored
from daskdl.cluster.stats.events import FitReport
from daskdl.cluster.stats.report import EvaluationSummary, render_report
from daskdl.evaluation.evaluable import Evaluable
from daskdl.evaluation.evaluation import Evaluation
from daskdl.evaluation.regression import RegressionEvaluation
from daskdl.nn.network import Network

__all__ = ["Results", "accuracy_of", "evaluation_for"]

_REGRESSION_LOSSES = frozenset({"mse", "l2", "mae", "l1"})


def evaluation_for(network: Network[Any]) -> Evaluable:
    """Return an empty evaluation of the kind that the network's losses ask for."""
    is_regression = _REGRESSION_LOSSES.issuperset(network.output_losses)
    return RegressionEvaluation() if is_regression else Evaluation()


def accuracy_of(evaluation: Evaluable | None) -> float | None:
    """Return the accuracy; None for a regression."""
    if not isinstance(evaluation, Evaluation):
        return None
    return float(evaluation.accuracy())


@dataclass(frozen=True)
class Results:
    """What a run gave.

    Attributes
    ----------
    job : Job
        As it ran.
    network : Network
        Trained.
    report : FitReport
        Of the fit.
    scored : Scored or None
        Loss and evaluation of the test data, if there are any.
    test_name : str
        What was evaluated on.
    """

    job: Job
    network: Network[Any]
    report: FitReport
    scored: Scored | None
    test_name: str = ""

    @property
    def evaluation(self) -> Evaluable | None:
        """Of the test data."""
        return self.scored.evaluations[0] if self.scored else None

    def figures(self, *, model: str, wall_s: float) -> Figures:
        """Return the figures of the run."""
        return Figures(
            accuracy=accuracy_of(self.evaluation),
            loss=self._loss(),
            examples=self.report.examples,
            examples_per_s=round(self.report.examples_per_s, 1),
            wall_s=round(wall_s, 3),
            workers=len(self.report.workers),
            repeated_examples=self.report.repeated_examples,
            bytes_sent=self.report.bytes_sent,
            lost_workers=tuple(event.worker for event in self.report.lost),
            model=model,
        )

    def page(self, title: str) -> str:
        """Return the HTML report."""
        return render_report(
            self.report,
            title=title,
            summary=self._summary(),
            job=job_text(self.job),
            network=self.network.summary(),
            evaluation=self._evaluation_summary(),
            versions=versions_here(),
        )

    def _loss(self) -> float | None:
        if self.scored is not None:
            return self.scored.loss_sum / self.scored.examples
        return self.report.epochs[-1].score if self.report.epochs else None

    def _summary(self) -> Mapping[str, str]:
        report = self.report
        facts = {
            "accuracy": in_words(accuracy_of(self.evaluation), percent=True),
            "loss": in_words(self._loss()),
            "training master": self.job.training.master,
            "epochs": str(len(report.epochs)),
            "examples trained": f"{report.examples:,}",
            "examples per second": f"{report.examples_per_s:,.0f}",
            "training time": f"{report.wall_s:.1f} s",
            "workers": str(len(report.workers)),
            "sent between workers": size_in_words(report.bytes_sent),
            "largest worker": size_in_words(report.peak_worker_bytes),
        }
        if not report.peak_worker_bytes:
            del facts["largest worker"]
        return {name: text for name, text in facts.items() if text}

    def _evaluation_summary(self) -> EvaluationSummary | None:
        evaluation = self.evaluation
        if evaluation is None:
            return None
        if isinstance(evaluation, Evaluation):
            return _classes(evaluation, self.test_name)
        scores = {
            metric: evaluation.score_for_metric(metric) for metric in evaluation.METRICS
        }
        return EvaluationSummary(name=self.test_name, metrics=scores)


def _classes(evaluation: Evaluation, name: str) -> EvaluationSummary:
    return EvaluationSummary(
        name=name,
        metrics={
            "accuracy": evaluation.accuracy(),
            "precision": evaluation.precision(),
            "recall": evaluation.recall(),
            "F1": evaluation.f1(),
        },
        confusion=evaluation.confusion_matrix.tolist(),
    )
